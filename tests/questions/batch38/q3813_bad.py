import torch
import torch.nn as nn
import torch.nn.functional as F


class SimCLR(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.projection = nn.Linear(32, 16)

    def forward(self, x):
        h = self.enc(x)
        return h, self.projection(h)


class LinModel(nn.Module):
    def __init__(self, encoder, n_classes=6):
        super().__init__()
        self.enc = encoder
        self.lin = nn.Linear(32, n_classes)

    def forward(self, x):
        return self.lin(self.enc(x))


torch.manual_seed(0)
centres = torch.randn(6, 30)
labels = torch.randint(0, 6, (600,))
data = centres[labels] + 1.5 * torch.randn(600, 30)

pre = SimCLR()
opt = torch.optim.Adam(pre.parameters(), lr=1e-3)
for step in range(60):
    xb = data[torch.randint(0, 600, (64,))]
    z1 = F.normalize(pre(xb + 0.3 * torch.randn_like(xb))[1], dim=1)
    z2 = F.normalize(pre(xb + 0.3 * torch.randn_like(xb))[1], dim=1)
    loss = F.cross_entropy(z1 @ z2.t() / 0.2, torch.arange(64))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"pretraining loss {loss.item():.4f}")

model = LinModel(pre.enc)
stored = [p.detach().clone() for p in model.enc.parameters()]
model.enc.requires_grad = False
parameters = [p for p in model.parameters() if p.requires_grad is True]
optimizer = torch.optim.Adam(parameters, lr=3e-3)
for epoch in range(10):
    total = 0.0
    for idx in torch.randperm(400).split(40):
        loss = F.cross_entropy(model(data[idx]), labels[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    with torch.no_grad():
        acc = (model(data[400:]).argmax(1) == labels[400:]).float().mean().item()
    print(f"linear evaluation epoch {epoch} loss {total / 10:.4f} acc {acc:.3f}")
drift = sum((a - b).abs().sum().item() for a, b in zip(stored, model.enc.parameters()))
print(f"encoder drift {drift:.3f}")
