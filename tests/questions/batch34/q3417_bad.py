import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Actor(nn.Module):
    def __init__(self, size=32):
        super().__init__()
        self.embed = nn.Linear(2, size)
        self.query = nn.Linear(2 * size, size)

    def forward(self, cities):
        h = torch.tanh(self.embed(cities))
        batch, count, _ = h.shape
        visited = torch.zeros(batch, count, dtype=torch.bool)
        last, log_prob, tour = h.mean(1), 0.0, []
        for _ in range(count):
            q = self.query(torch.cat([h.mean(1), last], 1))
            scores = (h @ q.unsqueeze(2)).squeeze(2).masked_fill(visited, -1e9)
            dist = torch.distributions.Categorical(logits=scores)
            choice = dist.sample()
            log_prob = log_prob + dist.log_prob(choice)
            visited = visited.scatter(1, choice.unsqueeze(1), True)
            last = h[torch.arange(batch), choice]
            tour.append(choice)
        return torch.stack(tour, 1), log_prob


class Critic(nn.Module):
    def __init__(self, size=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, size), nn.Tanh(), nn.Linear(size, size), nn.Tanh())
        self.out = nn.Linear(size, 1)

    def forward(self, cities):
        return self.out(self.net(cities).mean(1)).squeeze(1)


def tour_length(cities, tour):
    path = cities.gather(1, tour.unsqueeze(2).expand(-1, -1, 2))
    return (path - path.roll(-1, 1)).norm(dim=2).sum(1)


class Trainer:
    def __init__(self):
        self.actor, self.critic = Actor(), Critic()
        params = list(self.actor.parameters()) + list(self.critic.parameters())
        self.optim = torch.optim.Adam(params, lr=3e-3)

    def step(self, cities):
        tour, log_prob = self.actor(cities)
        reward = tour_length(cities, tour)
        predictions = self.critic(cities)
        loss1 = ((reward - predictions) * log_prob).mean()
        loss2 = F.mse_loss(predictions, reward)
        self.optim.zero_grad()
        (loss1 + loss2).backward()
        self.optim.step()
        return reward.mean().item(), loss2.item()


def main():
    trainer = Trainer()
    for step in range(200):
        length, critic_loss = trainer.step(torch.rand(32, 8, 2))
        if step % 50 == 49:
            print(step, "length", round(length, 3), "critic loss", round(critic_loss, 3))


main()
