import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class FocalLoss(nn.Module):
    def __init__(self, alpha=0.25, gamma=1.0):
        super().__init__()
        self.alpha, self.gamma = alpha, gamma

    def get_weight(self, p, t):
        pt = p * t + (1 - p) * (1 - t)
        w = self.alpha * t + (1 - self.alpha) * (1 - t)
        return (w * (1 - pt).pow(self.gamma)).detach()

    def forward(self, input, target):
        input = torch.cat([1 - input, input], dim=1)
        target = F.one_hot(target, 2).float()
        weight = self.get_weight(input, target)
        return F.binary_cross_entropy_with_logits(input, target, weight, reduction="mean")


class WideDeep(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = nn.Linear(12, 1)
        self.deep = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return torch.sigmoid(self.wide(x) + self.deep(x))


def make_customers(teacher, n):
    x = torch.randn(n, 12)
    return x, (x @ teacher + 0.6 * x[:, 0] * x[:, 1] > 1.2).long()


def main():
    teacher = torch.randn(12) / 3
    x_test, y_test = make_customers(teacher, 2000)
    model, criterion = WideDeep(), FocalLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(1, 501):
        x, y = make_customers(teacher, 64)
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            with torch.no_grad():
                p = model(x_test).squeeze(1)
            found = p > 0.5
            recall = (found & (y_test == 1)).sum().item() / int(y_test.sum())
            print(
                f"step {step}: loss {loss.item():.4f} accuracy {(found == y_test).float().mean():.3f} recall {recall:.3f}"
            )


if __name__ == "__main__":
    main()
