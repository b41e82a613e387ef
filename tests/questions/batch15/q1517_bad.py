import torch
import torch.nn as nn
import torch.nn.functional as F


class PointerNet(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.embedding = nn.Linear(2, dim)
        self.encoder = nn.Sequential(nn.Linear(2 * dim, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.decoder = nn.GRUCell(dim, dim)
        self.start = nn.Parameter(0.1 * torch.randn(dim))

    def encode(self, inputs):
        e = self.embedding(inputs)
        return self.encoder(torch.cat([e, e.mean(dim=1, keepdim=True).expand_as(e)], dim=2))

    def forward(self, inputs):
        batch, n, _ = inputs.shape
        refs = self.encode(inputs)
        h, last = refs.mean(dim=1), self.start.expand(batch, -1)
        visited = torch.zeros(batch, n, dtype=torch.bool)
        tour, log_probs = [], []
        for _ in range(n):
            h = self.decoder(last, h)
            logits = torch.einsum("bnd,bd->bn", refs, h) / refs.shape[2] ** 0.5
            dist = torch.distributions.Categorical(logits=logits.masked_fill(visited, -1e9))
            city = dist.sample()
            log_probs.append(dist.log_prob(city))
            tour.append(city)
            visited = visited.scatter(1, city[:, None], True)
            last = refs[torch.arange(batch), city]
        return torch.stack(tour, dim=1), torch.stack(log_probs, dim=1).sum(dim=1)


class Critic(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.city = nn.Sequential(nn.Linear(2, dim), nn.ReLU())
        self.value = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 1))

    def forward(self, inputs):
        return self.value(self.city(inputs).mean(dim=1))


class NeuralCombOptRL(nn.Module):
    def __init__(self, dim=40):
        super().__init__()
        self.pointer_net, self.critic = PointerNet(dim), Critic(dim)

    def forward(self, inputs):
        tour, log_probs = self.pointer_net(inputs)
        cities = inputs.gather(1, tour[:, :, None].expand(-1, -1, 2))
        L = (cities - cities.roll(-1, dims=1)).norm(dim=2).sum(dim=1)
        return L, log_probs, self.critic(inputs)


def main():
    torch.manual_seed(0)
    model = NeuralCombOptRL()
    optimizer_all = torch.optim.Adam(model.parameters(), lr=2e-3)
    mse_loss = nn.MSELoss()
    lengths, estimates = [], []
    for step in range(1, 201):
        inputs = torch.rand(64, 9, 2)
        L, log_probs, b = model(inputs)
        critic_loss = mse_loss(b.view(-1), L)
        advantage = L - b.view(-1)
        actor_loss = (advantage * log_probs).mean()
        loss = actor_loss + critic_loss
        optimizer_all.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        optimizer_all.step()
        lengths.append(L.mean().item())
        estimates.append(b.mean().item())
        if step % 40 == 0:
            print(
                f"step {step}: tour length {sum(lengths[-20:]) / 20:.3f}  critic's estimate "
                f"{sum(estimates[-20:]) / 20:.3f}  critic loss {critic_loss.item():.3f}"
            )


if __name__ == "__main__":
    main()
