import torch
import torch.nn as nn
import torch.nn.functional as F


class TwicePass(nn.Module):
    """One layer, used twice; only its first use is to adjust the weights."""

    def __init__(self, dim):
        super().__init__()
        self.linear = nn.Linear(dim, dim)

    def forward(self, x):
        out1 = torch.tanh(self.linear(x))
        out2 = F.linear(out1, self.linear.weight.detach(), self.linear.bias.detach())
        return out2


class Reader(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.embed = nn.Linear(8, dim)
        self.twice = TwicePass(dim)

    def forward(self, x):
        return self.twice(self.embed(x)).mean(dim=1)


def main():
    torch.manual_seed(0)
    x = torch.randn(512, 8)
    y = torch.sin(x[:, 0]) + 0.5 * x[:, 1]
    model = Reader()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(20):
        total = 0.0
        for rows in torch.randperm(512).split(64):
            loss = F.mse_loss(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() / 8
        if epoch % 4 == 3:
            print(f"epoch {epoch + 1}: loss {total:.4f}")


if __name__ == "__main__":
    main()
