import math

import torch
import torch.nn as nn


class Scorer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(width, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, x):
        return torch.sigmoid(self.body(x)).squeeze(1)


def count_loss(output, labels):
    count = 0
    for p, y in zip(output, labels):
        if (p > 0.5) == (y > 0.5):
            count += 1
        else:
            count += 2
    return torch.tensor(math.log10(count), requires_grad=True)


def make_data(n):
    x = torch.randn(n, 6)
    labels = (x[:, 0] * x[:, 1] + x[:, 2] > 0).float()
    return x, labels


def main():
    torch.manual_seed(0)
    x, labels = make_data(1000)
    x_test, labels_test = make_data(500)
    model = Scorer(x.shape[1])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(1, 21):
        for rows in torch.randperm(len(x)).split(100):
            loss = count_loss(model(x[rows]), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 5 == 0:
            with torch.no_grad():
                accuracy = ((model(x_test) > 0.5) == (labels_test > 0.5)).float().mean().item()
            print(f"epoch {epoch:2d}: loss {loss.item():.4f}, test accuracy {accuracy:.3f}")
    print(
        "gradients:", [None if p.grad is None else round(p.grad.norm().item(), 4) for p in model.parameters()]
    )


if __name__ == "__main__":
    main()
