import torch
import torch.nn as nn

torch.manual_seed(11)


class IoULoss(nn.Module):
    def __init__(self, thresh=0.5, smooth=1.0):
        super().__init__()
        self.thresh = thresh
        self.smooth = smooth

    def forward(self, outputs, targets):
        outputs = torch.where(outputs < self.thresh, 0, 1)
        intersect = torch.logical_and(outputs, targets).sum(-1)
        union = torch.logical_or(outputs, targets).sum(-1)
        iou = (intersect + self.smooth) / (union + self.smooth)
        return 1 - iou.mean()


class PeakFinder(nn.Module):
    def __init__(self, channels=8, kernel=15):
        super().__init__()
        self.wavelet = nn.Conv1d(1, channels, kernel, padding=kernel // 2)
        self.mix = nn.Conv1d(channels, channels, 5, padding=2)
        self.out = nn.Conv1d(channels, 1, 1)

    def forward(self, x):
        x = torch.tanh(self.wavelet(x.unsqueeze(1)))
        x = torch.relu(self.mix(x))
        return torch.sigmoid(self.out(x)).squeeze(1)


def make_signals(n, length=256):
    t = torch.arange(length).float()
    signals = 0.15 * torch.randn(n, length)
    labels = torch.zeros(n, length)
    for i in range(n):
        for centre in torch.randint(15, length - 15, (5,)).tolist():
            signals[i] += torch.exp(-0.5 * ((t - centre) / 4.0) ** 2)
            labels[i, centre - 4:centre + 5] = 1.0
    return signals, labels


x, y = make_signals(320)
x_val, y_val = make_signals(80)
model = PeakFinder()
criterion = IoULoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(12):
    order = torch.randperm(len(x))
    running = 0.0
    for start in range(0, len(x), 32):
        idx = order[start:start + 32]
        output = model(x[idx])
        loss = criterion(output, y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    print(f"epoch {epoch:2d} loss {running / 10:.4f}")

with torch.no_grad():
    found = model(x_val) >= 0.5
    inter = torch.logical_and(found, y_val.bool()).sum()
    union = torch.logical_or(found, y_val.bool()).sum()
print(f"validation IoU {(inter / union).item():.4f}")
