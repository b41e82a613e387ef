import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)
basis = torch.randn(4, 24)
samples = torch.randn(800, 4) @ basis + 0.05 * torch.randn(800, 24)
loader = DataLoader(TensorDataset(samples), batch_size=4, shuffle=True)
ACCUMULATE = 8


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(24, 32), nn.Tanh(), nn.Linear(32, 4))
        self.decoder = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 24))

    def forward(self, x):
        return self.decoder(self.encoder(x))


model = AutoEncoder()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
criterion = nn.MSELoss()
for epoch in range(1, 13):
    model.train()
    running = 0.0
    for step, (batch,) in enumerate(loader, start=1):
        recon = model(batch)
        loss = criterion(recon, batch)
        (loss / ACCUMULATE).backward()
        if step % ACCUMULATE == 0:
            optimizer.step()
            optimizer.zero_grad()
        running += loss.item()
    if epoch % 3 == 0:
        print(f"epoch {epoch} reconstruction loss {running / len(loader):.4f}")
