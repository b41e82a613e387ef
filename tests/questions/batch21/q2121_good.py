import math
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(9)
ENCODER, DECODER = 24, 6


class SequenceNormalizer:
    def fit(self, y):
        self.center = y.mean()
        self.scale = y.std() + 1e-6
        return self

    def transform(self, y):
        return (y - self.center) / self.scale


class SeriesDataset(Dataset):
    def __init__(self, series):
        self.series = series
        self.per_series = series.size(1) - ENCODER - DECODER + 1

    def __len__(self):
        return self.series.size(0) * self.per_series

    def __getitem__(self, i):
        row, start = divmod(i, self.per_series)
        window = self.series[row, start:start + ENCODER + DECODER]
        past, y = window[:ENCODER], window[ENCODER:]
        normalizer = SequenceNormalizer().fit(past)
        target_past = normalizer.transform(past)
        y = normalizer.transform(y)
        return {
            "target_past": target_past.unsqueeze(-1),
            "target_scale": torch.stack([normalizer.center, normalizer.scale]),
            "actual": window[ENCODER:],
        }, y


class Forecaster(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, DECODER)

    def forward(self, x):
        out, _ = self.rnn(x["target_past"])
        return self.head(out[:, -1])


def demand(n, length, gen):
    t = torch.arange(length).float()
    level = 20 + 400 * torch.rand(n, 1, generator=gen)
    season = torch.sin(2 * math.pi * t / 12 + 6.28 * torch.rand(n, 1, generator=gen))
    noise = 0.02 * torch.randn(n, length, generator=gen)
    return level * (1 + 0.2 * season + noise)


gen = torch.Generator().manual_seed(1)
train = DataLoader(SeriesDataset(demand(60, 60, gen)), batch_size=128, shuffle=True)
val = DataLoader(SeriesDataset(demand(20, 45, gen)), batch_size=256)

model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.L1Loss()

for epoch in range(12):
    model.train()
    total = 0.0
    for x, y in train:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1}: train loss {total / len(train):.4f}")

model.eval()
error, count = 0.0, 0
with torch.no_grad():
    for x, y in val:
        center, scale = x["target_scale"].unbind(1)
        forecast = model(x) * scale[:, None] + center[:, None]
        error += ((forecast - x["actual"]).abs() / x["actual"]).sum().item()
        count += y.numel()
print(f"validation mape of the rescaled forecast {error / count:.4f}")
