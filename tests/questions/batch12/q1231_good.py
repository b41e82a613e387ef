import torch
import torch.nn as nn
import torch.nn.functional as F

ITEMS, LEVELS = 4, 3


class Questionnaire(nn.Module):
    """For every item of a questionnaire the probabilities of the possible answers."""

    def __init__(self, features=10):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, 48), nn.ReLU(), nn.Linear(48, ITEMS * LEVELS))

    def forward(self, x):
        return torch.softmax(self.net(x).view(-1, ITEMS, LEVELS), dim=2)


def answers(w):
    return (w * torch.arange(LEVELS)).sum(dim=2)


def total_score_loss(w, totals):
    return F.mse_loss(answers(w).sum(dim=1), totals)


def people(n, generator):
    fixed = torch.Generator().manual_seed(6)
    weight = torch.randn(10, ITEMS, generator=fixed)
    x = torch.randn(n, 10, generator=generator)
    level = torch.bucketize(x @ weight, torch.tensor([-1.5, 1.5]))
    return x, level.sum(dim=1).float()


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    x, totals = people(1500, generator)
    model = Questionnaire()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(20):
        total = 0.0
        for rows in torch.randperm(len(x), generator=generator).split(50):
            loss = total_score_loss(model(x[rows]), totals[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() / 30
        if epoch % 4 == 3:
            print(f"epoch {epoch + 1}: loss {total:.4f}")


if __name__ == "__main__":
    main()
