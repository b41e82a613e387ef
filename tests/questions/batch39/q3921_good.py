import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

LOOKBACK, PREDICT = 24, 8


class QlibLikeDataset(Dataset):
    def __init__(self, series, n_samples, clip=5.0, seed=0):
        self.series = series
        self.window = LOOKBACK + PREDICT
        self.clip = clip
        self.rng = np.random.RandomState(seed)
        self.starts = self.rng.randint(0, len(series) - self.window, n_samples)

    def __len__(self):
        return len(self.starts)

    def __getitem__(self, idx):
        start = self.starts[idx]
        x = self.series[start:start + self.window].astype(np.float32)
        past = x[:LOOKBACK]
        x_mean, x_std = np.mean(past, axis=0), np.std(past, axis=0)
        x = (x - x_mean) / (x_std + 1e-5)
        x = np.clip(x, -self.clip, self.clip)
        return torch.from_numpy(x[:LOOKBACK]), torch.from_numpy(x[LOOKBACK:, 0])


class Predictor(nn.Module):
    def __init__(self, n_feat, hidden=64):
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(LOOKBACK * n_feat, hidden), nn.ReLU(),
                                 nn.Linear(hidden, PREDICT))

    def forward(self, x):
        return self.net(x)


def predict(model, history):
    mean, std = history.mean(axis=0), history.std(axis=0)
    z = torch.from_numpy(((history - mean) / (std + 1e-5)).astype(np.float32)).clamp(-5, 5)
    with torch.no_grad():
        out = model(z[None])[0].numpy()
    return out * (std[0] + 1e-5) + mean[0]


rng = np.random.RandomState(1)
torch.manual_seed(1)
close = np.cumsum(rng.randn(6000) * 0.5) + 300
volume = np.exp(rng.randn(6000) * 0.3)
series = np.stack([close, volume], axis=1)
train_set = QlibLikeDataset(series[:4500], 4000, seed=2)
val_set = QlibLikeDataset(series[4500:5300], 600, seed=3)
train_loader = DataLoader(train_set, batch_size=128, shuffle=True)
val_loader = DataLoader(val_set, batch_size=200)

model = Predictor(2)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(15):
    model.train()
    for x, y in train_loader:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        val = np.mean([nn.functional.mse_loss(model(x), y).item() for x, y in val_loader])
    print(f"epoch {epoch} train {loss.item():.4f} val {val:.4f}")

model_err, naive_err, test = [], [], series[5300:]
for t in range(LOOKBACK, len(test) - PREDICT, 3):
    future = test[t:t + PREDICT, 0]
    model_err.append(np.mean((predict(model, test[t - LOOKBACK:t]) - future) ** 2))
    naive_err.append(np.mean((test[t - 1, 0] - future) ** 2))
print(f"walk forward: model mse {np.mean(model_err):.3f}, last-price mse {np.mean(naive_err):.3f}")
