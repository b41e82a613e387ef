import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 48), nn.Tanh(), nn.Linear(48, 4))

    def log_prob(self, theta, x):
        mean, log_std = self.net(x).chunk(2, dim=1)
        return (-0.5 * ((theta - mean) / log_std.exp()) ** 2 - log_std).sum(dim=1)


class Engine:
    def __init__(self):
        self.network = Flow()
        self.init_state = self.get_state_dict()

    def get_state_dict(self):
        return self.network.state_dict()

    def set_state_dict(self, state):
        self.network.load_state_dict(state)

    def fit_round(self, theta, x, steps=150):
        self.set_state_dict(self.init_state)
        optimizer = torch.optim.Adam(self.network.parameters(), lr=5e-3)
        first = None
        for _ in range(steps):
            loss = -self.network.log_prob(theta, x).mean()
            first = loss.item() if first is None else first
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return first, loss.item()


def simulate(theta, mix):
    return torch.tanh(theta @ mix) + 0.1 * torch.randn(len(theta), 6)


def main():
    mix = torch.randn(2, 6)
    engine = Engine()
    fresh = torch.cat([p.flatten().clone() for p in engine.network.parameters()])
    low, high = -1.0, 1.0
    for round_ in range(4):
        theta = low + (high - low) * torch.rand(300, 2)
        engine.set_state_dict(engine.init_state)
        now = torch.cat([p.detach().flatten() for p in engine.network.parameters()])
        first, last = engine.fit_round(theta, simulate(theta, mix))
        away = (now - fresh).abs().max().item()
        print(
            f"round {round_}: weights at its start are {away:.3f} away from the initial ones, loss {first:.3f} -> {last:.3f}"
        )
        low, high = 0.5 * low, 0.5 * high
    truth = torch.rand(500, 2) * 0.25
    with torch.no_grad():
        mean = engine.network.net(simulate(truth, mix))[:, :2]
    print(f"error of the last round's estimate: {F.l1_loss(mean, truth).item():.4f}")


if __name__ == "__main__":
    main()
