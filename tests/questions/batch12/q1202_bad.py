import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def make_series(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(n)
    series = np.sin(2 * np.pi * t / 24) + 0.5 * np.sin(2 * np.pi * t / 7) + 0.1 * rng.standard_normal(n)
    return series.astype(np.float32)


def windows(series, seq_len, pred_len):
    xs, ys = [], []
    for i in range(len(series) - seq_len - pred_len + 1):
        xs.append(series[i : i + seq_len])
        ys.append(series[i + seq_len + pred_len - 1])
    return torch.from_numpy(np.stack(xs)), torch.from_numpy(np.array(ys))


class PatchForecaster(nn.Module):
    def __init__(self, seq_len=48, patch=8, d_model=32, pred_len=1):
        super().__init__()
        self.patch = patch
        self.embed = nn.Linear(patch, d_model)
        layer = nn.TransformerEncoderLayer(d_model, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.head = nn.Linear(d_model * (seq_len // patch), pred_len)

    def forward(self, x):
        patches = x.unfold(1, self.patch, self.patch)
        h = self.encoder(self.embed(patches))
        return self.head(h.flatten(1))


def main():
    torch.manual_seed(0)
    x, y = windows(make_series(), seq_len=48, pred_len=1)
    cut = 1200
    train_loader = DataLoader(TensorDataset(x[:cut], y[:cut]), batch_size=64, shuffle=True)
    model = PatchForecaster()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    criterion = nn.MSELoss()
    for epoch in range(8):
        total = 0.0
        for x_batch, y_batch in train_loader:
            pred = model(x_batch)
            loss = criterion(pred, y_batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        with torch.no_grad():
            guess = model(x[cut:])[:, 0]
            mae = (guess - y[cut:]).abs().mean()
            naive = (x[cut:, -1] - y[cut:]).abs().mean()
        print(f"epoch {epoch}: train {total / len(train_loader):.4f}  val mae {mae:.3f} (last value: {naive:.3f})")


if __name__ == "__main__":
    main()
