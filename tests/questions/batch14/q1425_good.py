import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.optimizer import Optimizer


class SignSGD(Optimizer):
    def __init__(self, params, lr=1e-3, momentum=0.9):
        super().__init__(params, {"lr": lr, "momentum": momentum})

    def init_group(self, group):
        for p in group["params"]:
            if p.grad is None:
                continue
            state = self.state[p]
            if len(state) == 0 and group["momentum"] > 0.0:
                state["momentum_buffer"] = torch.zeros_like(p)

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            self.init_group(group)
            momentum = group["momentum"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                if momentum > 0.0:
                    buf = self.state[p]["momentum_buffer"]
                    buf.mul_(momentum).add_(p.grad, alpha=1.0 - momentum)
                else:
                    buf = p.grad
                p.add_(torch.sign(buf), alpha=-group["lr"])


def make_data(n, generator):
    x = torch.randn(n, 20, generator=generator)
    w = torch.randn(20, generator=torch.Generator().manual_seed(2))
    logits = 2.0 * torch.tanh(x @ w / 2) + x[:, 0] * x[:, 1]
    return x, torch.bernoulli(torch.sigmoid(2 * logits), generator=generator)


def train(momentum, train_set, test_set):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 1))
    optimizer = SignSGD(model.parameters(), lr=4e-3, momentum=momentum)
    x, y = train_set
    for _ in range(300):
        rows = torch.randint(0, len(x), (8,))
        loss = F.binary_cross_entropy_with_logits(model(x[rows]).squeeze(1), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        x, y = test_set
        return F.binary_cross_entropy_with_logits(model(x).squeeze(1), y).item()


def main():
    generator = torch.Generator().manual_seed(1)
    train_set, test_set = make_data(4000, generator), make_data(2000, generator)
    for momentum in (0.0, 0.5, 0.9):
        print(f"momentum {momentum}: test loss {train(momentum, train_set, test_set):.6f}")


if __name__ == "__main__":
    main()
