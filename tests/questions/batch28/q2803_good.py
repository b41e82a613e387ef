import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


class DepthDataset(Dataset):
    def __init__(self, n=24, size=32, train=True, seed=0):
        rng = np.random.RandomState(seed)
        self.signal = rng.randn(n, size).astype(np.float32)
        self.signal[:, ::2] += 0.8 * rng.randn(n, 1)
        self.depth = self.signal[:, ::2].mean(1, keepdims=True).astype(np.float32)
        self.train = train

    def __len__(self):
        return len(self.signal)

    def __getitem__(self, i):
        x = self.signal[i]
        if self.train:
            x = x + 0.7 * np.random.randn(*x.shape).astype(np.float32)
            keep = (np.random.rand(*x.shape) > 0.3).astype(np.float32)
            x = x * keep
        return x, self.depth[i]


def make_loader(dataset, epoch, workers):
    return DataLoader(dataset, batch_size=6, shuffle=False, num_workers=workers,
                      worker_init_fn=lambda work_id: np.random.seed(work_id + workers * epoch))


def main():
    torch.manual_seed(0)
    np.random.seed(0)
    torch.set_num_threads(1)
    train_set = DepthDataset(train=True, seed=0)
    val_set = DepthDataset(n=400, train=False, seed=1)
    val_x, val_y = torch.from_numpy(val_set.signal), torch.from_numpy(val_set.depth)
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.MSELoss()

    for epoch in range(60):
        model.train()
        total = 0.0
        for x, y in make_loader(train_set, epoch, workers=2):
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 12 == 11:
            model.eval()
            with torch.no_grad():
                val = criterion(model(val_x), val_y).item()
            print(f"epoch {epoch + 1}: train {total / 4:.4f} val {val:.4f}")


if __name__ == "__main__":
    main()
