import numpy as np
import torch
import torch.nn as nn

np.random.seed(0)
torch.manual_seed(0)
torch.set_num_threads(1)
N_STEPS = 8


class MinMaxScaler:
    def fit(self, x):
        self.lo, self.hi = x.min(), x.max()
        return self

    def transform(self, x):
        return (x - self.lo) / (self.hi - self.lo)

    def fit_transform(self, x):
        return self.fit(x).transform(x)

    def inverse_transform(self, z):
        return z * (self.hi - self.lo) + self.lo


class TimeSeries:
    def __init__(self, series, scaler):
        self.series = series
        self.scaler = scaler().fit(series)

    def scale(self, values):
        return torch.tensor(self.scaler.fit_transform(values), dtype=torch.float32)[..., None]

    def next_batch(self, batch_size, n_steps):
        rows = np.random.choice(len(self.series), batch_size, replace=False)
        start = np.random.randint(0, self.series.shape[1] - n_steps)
        batch = self.scale(self.series[rows, start:start + n_steps + 1])
        return batch[:, :-1], batch[:, 1:]


class DeepAR(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.lstm = nn.LSTM(1, dim, batch_first=True)
        self.mu = nn.Linear(dim, 1)
        self.sigma = nn.Linear(dim, 1)

    def forward(self, x):
        h, _ = self.lstm(x)
        return self.mu(h), nn.functional.softplus(self.sigma(h)) + 1e-3


def make_series(n, length=100):
    x = np.zeros((n, length))
    for t in range(1, length):
        x[:, t] = 0.9 * x[:, t - 1] + np.random.randn(n)
    return 20 + x


def gaussian_nll(mu, sigma, y):
    return (sigma.log() + 0.5 * ((y - mu) / sigma) ** 2).mean()


dataset = TimeSeries(make_series(40), MinMaxScaler)
model = DeepAR()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(1500):
    x, y = dataset.next_batch(1, N_STEPS)
    mu, sigma = model(x)
    loss = gaussian_nll(mu, sigma, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 300 == 0 or step == 1499:
        print(f"step {step} nll {loss.item():.4f}")

with torch.no_grad():
    errors = []
    for _ in range(400):
        x, y = dataset.next_batch(1, N_STEPS)
        mu, _ = model(x)
        real, pred = (dataset.scaler.inverse_transform(v[:, -1].numpy()) for v in (y, mu))
        errors.append(np.abs(real - pred).mean())
    print(f"evaluation MAE {np.mean(errors):.3f}")
    errors = []
    for series in make_series(400):
        history, future = series[None, 50:50 + N_STEPS], series[50 + N_STEPS]
        mu, _ = model(dataset.scale(history))
        errors.append(abs(dataset.scaler.inverse_transform(mu[0, -1, 0].item()) - future))
    print(f"live forecast MAE {np.mean(errors):.3f}")
