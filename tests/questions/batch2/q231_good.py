import math

import torch
import torch.nn as nn


class SingleTaskGP(nn.Module):
    """An exact Gaussian process with a squared exponential kernel."""

    def __init__(self, train_x, train_y):
        super().__init__()
        self.train_x = train_x
        self.train_y = (train_y - train_y.mean()) / train_y.std()
        self.raw_lengthscale = nn.Parameter(torch.zeros(train_x.shape[1], dtype=train_x.dtype))
        self.raw_outputscale = nn.Parameter(torch.zeros((), dtype=train_x.dtype))
        self.raw_noise = nn.Parameter(torch.tensor(-2.0, dtype=train_x.dtype))

    def covariance(self):
        x = self.train_x / nn.functional.softplus(self.raw_lengthscale)
        d2 = (x.unsqueeze(0) - x.unsqueeze(1)).pow(2).sum(-1)
        noise = nn.functional.softplus(self.raw_noise) + 1e-4
        k = nn.functional.softplus(self.raw_outputscale) * torch.exp(-0.5 * d2)
        return k + noise * torch.eye(len(x), dtype=x.dtype)


def marginal_log_likelihood(model):
    chol = torch.linalg.cholesky(model.covariance())
    alpha = torch.cholesky_solve(model.train_y.unsqueeze(1), chol)
    fit = 0.5 * (model.train_y @ alpha.squeeze(1))
    n = len(model.train_y)
    return -(fit + chol.diagonal().log().sum() + 0.5 * n * math.log(2 * math.pi)) / n


def fit_mll(model, steps=60):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for step in range(steps):
        optimizer.zero_grad()
        loss = -marginal_log_likelihood(model)
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            print(
                f"step {step} loss {loss.item():.4f} noise {nn.functional.softplus(model.raw_noise).item():.4f}"
            )


def objective(x):
    return 3 * x[:, 0] + torch.sin(6 * x[:, 1]) - x[:, 2] ** 2


torch.manual_seed(0)
train_x = torch.rand(30, 3, dtype=torch.float64, requires_grad=True)
train_obj = objective(train_x)
model = SingleTaskGP(train_x.detach(), train_obj.detach())
fit_mll(model)
