import torch
import torch.nn as nn
import torch.nn.functional as F


class Actor(nn.Module):
    """Chooses the order in which cities are visited."""

    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Linear(2, dim)
        self.context = nn.Linear(2 * dim, dim)

    def forward(self, cities):
        batch, n, _ = cities.shape
        keys = torch.tanh(self.embed(cities))
        mean = keys.mean(1)
        current, visited = keys[:, 0], torch.zeros(batch, n, dtype=torch.bool)
        visited[:, 0] = True
        tour, log_prob = [torch.zeros(batch, dtype=torch.long)], 0.0
        for _ in range(n - 1):
            query = self.context(torch.cat([current, mean], dim=-1))
            scores = torch.einsum("bnd,bd->bn", keys, query).masked_fill(visited, float("-inf"))
            dist = torch.distributions.Categorical(logits=scores)
            city = dist.sample()
            log_prob = log_prob + dist.log_prob(city)
            tour.append(city)
            visited = visited.scatter(1, city.unsqueeze(1), True)
            current = keys[torch.arange(batch), city]
        return torch.stack(tour, dim=1), log_prob


class Critic(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(2, dim), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 1))

    def forward(self, cities):
        return self.head(self.encoder(cities).mean(1)).squeeze(-1)


def tour_length(cities, tour):
    ordered = cities.gather(1, tour.unsqueeze(-1).expand(-1, -1, 2))
    return (ordered - ordered.roll(1, dims=1)).norm(dim=-1).sum(1)


torch.manual_seed(0)
actor, critic = Actor(), Critic()
actor_optim = torch.optim.Adam(actor.parameters(), lr=2e-3)
critic_optim = torch.optim.Adam(critic.parameters(), lr=2e-3)

for step in range(300):
    cities = torch.rand(64, 8, 2)
    tour, log_prob = actor(cities)
    length = tour_length(cities, tour)
    value = critic(cities)

    advantage = length - value
    actor_loss = (advantage * log_prob).mean()
    critic_loss = F.mse_loss(value, length)
    loss = actor_loss + critic_loss

    actor_optim.zero_grad()
    critic_optim.zero_grad()
    loss.backward()
    actor_optim.step()
    critic_optim.step()
    if step % 50 == 0 or step == 299:
        print(
            f"step {step} length {length.mean():.3f} value {value.mean():.3f} critic loss {critic_loss.item():.3f}"
        )
