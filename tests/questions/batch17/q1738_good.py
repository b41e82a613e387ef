import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F


class ImpartialLoss(nn.Module):
    def __init__(self, num_losses):
        super().__init__()
        self.s_t = nn.Parameter(torch.zeros(num_losses))

    def forward(self, losses):
        losses = torch.stack(losses)
        return (self.s_t.exp() * losses - self.s_t).sum()


class TwoTasks(nn.Module):
    def __init__(self, width=10):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(width, 12), nn.Tanh())
        self.price = nn.Linear(12, 1)
        self.rate = nn.Linear(12, 1)

    def forward(self, x):
        h = self.shared(x)
        return self.price(h).squeeze(1), self.rate(h).squeeze(1)


def make_data(n):
    x = torch.randn(n, 10)
    price = 30 * (x[:, 0] * x[:, 1] + x[:, 2] + 0.3 * torch.randn(n))
    rate = 0.1 * (torch.sin(2 * x[:, 3]) + x[:, 4]) + 0.01 * torch.randn(n)
    return x, price, rate


def explained(out, target):
    return 1 - ((out - target).pow(2).mean() / target.var()).item()


def main():
    torch.manual_seed(0)
    x, price, rate = make_data(1500)
    x_test, price_test, rate_test = make_data(500)
    model = TwoTasks()
    imtl = ImpartialLoss(2)
    parameters = itertools.chain(model.parameters(), imtl.parameters())
    optimizer = torch.optim.Adam(parameters, lr=0.01)
    for epoch in range(1, 31):
        for rows in torch.randperm(len(x)).split(100):
            out_price, out_rate = model(x[rows])
            loss = imtl([F.mse_loss(out_price, price[rows]), F.mse_loss(out_rate, rate[rows])])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 10 == 0:
            with torch.no_grad():
                out_price, out_rate = model(x_test)
            print(f"epoch {epoch}: s_t {[round(s, 3) for s in imtl.s_t.tolist()]}", end="")
            print(
                f", explained variance: price {explained(out_price, price_test):.3f}, rate {explained(out_rate, rate_test):.3f}"
            )


if __name__ == "__main__":
    main()
