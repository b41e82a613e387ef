import torch
from torch import nn

torch.manual_seed(0)


def regression_loss(predicted, target, sigma=1.0):
    sigma_squared = sigma * sigma
    x = predicted - target
    x_abs = torch.abs(x)
    is_negative_branch = (x < (1.0 / sigma_squared)).float()
    negative = 0.5 * x * x * sigma_squared
    positive = x_abs - 0.5 / sigma_squared
    losses = is_negative_branch * negative + (1.0 - is_negative_branch) * positive
    return losses.sum() / len(target)


class BoxHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, features):
        return self.net(features)


def make_proposals(teacher, n=128, noisy=0.15):
    features = torch.randn(n, 8)
    clean = torch.tanh(features @ teacher)
    wild = (torch.rand(n, 1) < noisy).float() * 6.0 * torch.randn(n, 4).abs()
    return features, clean, clean + wild


def main():
    teacher = torch.randn(8, 4) / 2
    head = BoxHead()
    optimizer = torch.optim.Adam(head.parameters(), lr=2e-3)
    for step in range(1, 601):
        features, clean, target = make_proposals(teacher)
        predicted = head(features)
        loss = regression_loss(predicted, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 150 == 0:
            off = (predicted - clean).mean().item()
            error = (predicted - clean).abs().mean().item()
            print(
                f"step {step}: loss {loss.item():.3f} boxes are off by {error:.3f}, on average by {off:+.3f}"
            )


if __name__ == "__main__":
    main()
