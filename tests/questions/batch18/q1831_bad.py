import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
sensors, window, max_rul = 4, 20, 60


def load_batch(n=32, shift=0.0):
    rul = torch.rand(n, 1) * max_rul
    wear = (1 - rul / max_rul).unsqueeze(1)
    drift = torch.linspace(-0.1, 0, window).view(1, 1, -1) + wear
    gain = torch.tensor([1.0, -1.0, 2.0, 0.5]).view(1, -1, 1)
    return drift * gain + shift + 0.1 * torch.randn(n, sensors, window), rul / max_rul


class CnnExtractor(nn.Module):
    def __init__(self, units=16):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(sensors, 16, 5), nn.ReLU(), nn.Conv1d(16, 16, 5), nn.ReLU())
        self.fc = nn.Linear(16, units)

    def forward(self, x):
        return self.fc(self.conv(x).mean(dim=-1))


def pairwise_euclidean(x, y):
    squared = ((x.unsqueeze(1) - y.unsqueeze(0)) ** 2).sum(dim=-1)
    return squared.sqrt()


class EnergyDistance(nn.Module):
    def forward(self, source, target):
        across = pairwise_euclidean(source, target).mean()
        within = pairwise_euclidean(source, source).mean() + pairwise_euclidean(target, target).mean()
        return 2 * across - within


feature_extractor, regressor = CnnExtractor(), nn.Linear(16, 1)
consistency = EnergyDistance()
optimizer = torch.optim.Adam([*feature_extractor.parameters(), *regressor.parameters()], lr=3e-3)
for step in range(200):
    source, source_rul = load_batch()
    target, _ = load_batch(shift=0.5)
    source_features, target_features = feature_extractor(source), feature_extractor(target)
    rul_loss = F.mse_loss(regressor(source_features), source_rul)
    alignment = consistency(source_features, target_features)
    loss = rul_loss + 0.5 * alignment
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step < 3 or (step + 1) % 50 == 0:
        print(f"step {step + 1}: rul_loss {rul_loss.item():.4f}  alignment {alignment.item():.4f}")

with torch.no_grad():
    target, target_rul = load_batch(500, shift=0.5)
    rmse = F.mse_loss(regressor(feature_extractor(target)), target_rul).sqrt().item() * max_rul
print(f"RMSE on the target domain: {rmse:.2f} cycles")
