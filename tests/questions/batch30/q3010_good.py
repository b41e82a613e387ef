import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(0)

T = 256


class SISDRLoss(nn.Module):
    def __init__(self, eps=1e-8):
        super().__init__()
        self.eps = eps

    def forward(self, input, target):
        input = input - input.mean(-1, keepdim=True)
        target = target - target.mean(-1, keepdim=True)
        alpha = (input * target).sum(-1) / ((target ** 2).sum(-1) + self.eps)
        target = target * alpha.unsqueeze(-1)
        res = input - target
        losses = 10 * torch.log10((target ** 2).sum(-1) / ((res ** 2).sum(-1) + self.eps) + self.eps)
        return -losses.mean()


def songs(n):
    t = torch.linspace(0, 1, T)
    f = torch.randint(3, 9, (n, 1)).float()
    vocals = torch.sin(2 * torch.pi * (f * t + torch.rand(n, 1)))
    vocals = vocals * (torch.rand(n, 1) < 0.98).float()
    drums = 0.5 * torch.randn(n, T)
    return (vocals + drums).unsqueeze(1), vocals.unsqueeze(1)


class Separator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(1, 16, 15, padding=7), nn.PReLU(),
            nn.Conv1d(16, 16, 15, padding=7), nn.PReLU(),
            nn.Conv1d(16, 1, 15, padding=7))

    def forward(self, x):
        return self.net(x)


loader = DataLoader(TensorDataset(*songs(256)), batch_size=16, shuffle=True)
model = Separator()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = SISDRLoss()

for epoch in range(4):
    total = 0.0
    for mix, vocals in loader:
        est = model(mix)
        loss = criterion(est, vocals)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: SI-SDR loss {total / len(loader):.3f}")
