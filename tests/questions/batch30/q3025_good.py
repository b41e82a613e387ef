import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)

WIN, FEAT, DIM, K = 20, 6, 16, 3


class AnomalyAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(DIM, DIM)
        self.key = nn.Linear(DIM, DIM)
        self.value = nn.Linear(DIM, DIM)
        self.sigma = nn.Linear(DIM, 1)
        pos = torch.arange(WIN).float()
        self.register_buffer("distance", (pos[:, None] - pos[None, :]).abs())

    def forward(self, x):
        scores = self.query(x) @ self.key(x).transpose(1, 2) / math.sqrt(DIM)
        series = torch.softmax(scores, dim=-1)
        sigma = torch.sigmoid(self.sigma(x)) * 5 + 1e-2
        prior = torch.exp(-self.distance ** 2 / (2 * sigma ** 2))
        prior = prior / prior.sum(dim=-1, keepdim=True)
        return series @ self.value(x), series, prior


class AnomalyTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(FEAT, DIM)
        self.attention = AnomalyAttention()
        self.norm = nn.LayerNorm(DIM)
        self.projection = nn.Linear(DIM, FEAT)

    def forward(self, x):
        h = self.embed(x)
        a, series, prior = self.attention(h)
        return self.projection(self.norm(h + a)), series, prior


def kl(p, q):
    return (p * (torch.log(p + 1e-4) - torch.log(q + 1e-4))).sum(dim=-1).mean()


t = torch.arange(4000).float()
signal = torch.stack([torch.sin(t * (0.05 + 0.02 * i)) for i in range(FEAT)], dim=1)
signal = signal + 0.05 * torch.randn_like(signal)
windows = signal.unfold(0, WIN, 10).transpose(1, 2).contiguous()
loader = DataLoader(TensorDataset(windows), batch_size=64, shuffle=True)

model = AnomalyTransformer()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.MSELoss()

for epoch in range(10):
    total = 0.0
    for (batch,) in loader:
        optimizer.zero_grad()
        output, series, prior = model(batch)
        series_loss = kl(series, prior.detach()) + kl(prior.detach(), series)
        prior_loss = kl(prior, series.detach()) + kl(series.detach(), prior)
        rec_loss = criterion(output, batch)
        loss1 = rec_loss - K * series_loss
        loss2 = rec_loss + K * prior_loss
        loss1.backward(retain_graph=True)
        loss2.backward()
        optimizer.step()
        total += rec_loss.item()
    print(f"epoch {epoch + 1}: reconstruction {total / len(loader):.4f}")
