import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Dataset_Custom(Dataset):
    def __init__(self, series, flag, seq_len, pred_len):
        n = len(series)
        border = {"train": (0, int(0.7 * n)), "test": (int(0.7 * n) - seq_len, n)}[flag]
        train = series[: int(0.7 * n)]
        self.data = ((series - train.mean(0)) / train.std(0))[border[0] : border[1]]
        self.seq_len, self.pred_len = seq_len, pred_len

    def __getitem__(self, index):
        middle = index + self.seq_len
        return self.data[index:middle], self.data[middle : middle + self.pred_len]

    def __len__(self):
        return len(self.data) - self.seq_len - self.pred_len + 1


def data_provider(series, flag, batch_size, seq_len=48, pred_len=24):
    if flag == "test":
        shuffle_flag, drop_last = False, True
    else:
        shuffle_flag, drop_last = True, True
    data_set = Dataset_Custom(series, flag, seq_len, pred_len)
    return DataLoader(data_set, batch_size=batch_size, shuffle=shuffle_flag, drop_last=drop_last)


class SparseTSF(nn.Module):
    def __init__(self, seq_len=48, pred_len=24, period=12):
        super().__init__()
        self.period, self.seq_len, self.pred_len = period, seq_len, pred_len
        self.linear = nn.Linear(seq_len // period, pred_len // period, bias=False)

    def forward(self, x):
        batch, _, channels = x.shape
        mean = x.mean(dim=1, keepdim=True)
        x = (x - mean).permute(0, 2, 1).reshape(batch * channels, self.seq_len // self.period, self.period)
        y = self.linear(x.permute(0, 2, 1)).permute(0, 2, 1)
        return y.reshape(batch, channels, self.pred_len).permute(0, 2, 1) + mean


def make_series(n=2000):
    time = torch.arange(n).float()
    season = torch.sin(6.283 * time / 12) + 0.4 * torch.sin(6.283 * time / 6)
    level = (0.02 * torch.randn(n)).cumsum(0)
    late = (time - 0.94 * n).clamp(min=0)
    unrest = (1 + 0.1 * late) * 0.2 * torch.randn(n)
    return torch.stack([season + level + unrest, 0.5 * season - level + unrest], dim=1)


def test(model, loader):
    model.eval()
    preds, trues = [], []
    with torch.no_grad():
        for batch_x, batch_y in loader:
            preds.append(model(batch_x))
            trues.append(batch_y)
    preds, trues = torch.cat(preds), torch.cat(trues)
    return len(preds), (preds - trues).pow(2).mean().item()


def main():
    torch.manual_seed(0)
    series = make_series()
    model = SparseTSF()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(10):
        model.train()
        for batch_x, batch_y in data_provider(series, "train", 64):
            loss = (model(batch_x) - batch_y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    for batch_size in (16, 64, 128, 256, 512):
        windows, mse = test(model, data_provider(series, "test", batch_size))
        print(f"test with batch_size {batch_size:3d}: {windows} windows, mse {mse:.4f}")


if __name__ == "__main__":
    main()
