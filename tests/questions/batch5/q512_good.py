import resource

import torch
from torch import nn

torch.manual_seed(0)


class AutoEncoder(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n_in, 128), nn.ReLU(), nn.Linear(128, 16))
        self.decoder = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, n_in))

    def forward(self, x):
        return self.decoder(self.encoder(x))


def train_epoch(model, batches, criterion, optimizer):
    epoch_loss = 0
    for x in batches:
        loss = criterion(model(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
    return epoch_loss / len(batches)


basis = torch.randn(8, 64)
data = torch.randn(8192, 8) @ basis
model = AutoEncoder(64)
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
losses = []
for epoch in range(10):
    losses.append(train_epoch(model, data.split(128), criterion, optimizer))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"epoch {epoch}: loss {float(losses[-1]):.4f}, memory {memory:.0f} MB")
