import torch
import torch.nn as nn


class MultiTaskLoss(nn.Module):
    def __init__(self, tasks):
        super().__init__()
        self.tasks = nn.ModuleList(tasks)
        self.sigma = nn.Parameter(torch.ones(len(tasks)))
        self.mse = nn.MSELoss()

    def forward(self, x, targets):
        losses = [self.mse(f(x), y) for y, f in zip(targets, self.tasks, strict=True)]
        weighted = 0.5 * torch.stack(losses) / self.sigma**2
        return weighted.sum() + torch.log(self.sigma.prod()), losses


def regressor(width):
    return nn.Sequential(nn.Linear(width, 32), nn.Tanh(), nn.Linear(32, 1))


def make_data(n, width=5):
    x = torch.randn(n, width)
    y1 = torch.sin(x[:, :1]) + x[:, 1:2] + 0.1 * torch.randn(n, 1)
    y2 = 3.0 * (x[:, 2:3] * x[:, 3:4]) + 0.6 * torch.randn(n, 1)
    return x, y1, y2


def main():
    torch.manual_seed(0)
    x, y1, y2 = make_data(1024)
    mtl = MultiTaskLoss([regressor(x.shape[1]), regressor(x.shape[1])])
    optimizer = torch.optim.Adam(mtl.parameters(), lr=1e-2)
    for epoch in range(1, 61):
        for rows in torch.randperm(len(x)).split(64):
            loss, losses = mtl(x[rows], [y1[rows], y2[rows]])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 15 == 0:
            with torch.no_grad():
                loss, losses = mtl(x, [y1, y2])
            first, second = mtl.sigma.tolist()
            print(
                f"epoch {epoch:2d}: total {loss.item():.4f}  sigma {first:.3f} {second:.3f}"
                f"  mse of task 1 {losses[0].item():.4f}  mse of task 2 {losses[1].item():.4f}"
            )


if __name__ == "__main__":
    main()
