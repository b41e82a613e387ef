import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(9)


class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(16, 48), nn.Tanh())
        self.mid = nn.Sequential(nn.Linear(48, 48), nn.Tanh())
        self.dec = nn.Linear(48, 16)

    def forward(self, x):
        h1 = self.enc(x)
        h2 = self.mid(h1)
        return self.dec(h2), h2


reference = Blocks()
for p in reference.parameters():
    p.requires_grad_(False)
model = Blocks()

base = torch.randn(64, 16)
delta = torch.zeros(64, 16, requires_grad=True)
target_image = torch.randn(1, 16)
with torch.no_grad():
    target_features = reference(target_image)[1]

optim_delta = torch.optim.Adam([delta], lr=0.05)
optim_model = torch.optim.Adam(model.parameters(), lr=1e-3)
feature_weight = 2.0

for step in range(1, 401):
    noisy = base + delta
    rebuilt, _ = model(noisy)
    loss = F.mse_loss(rebuilt, base)
    features = reference(noisy)[1]
    target_loss = feature_weight * F.mse_loss(features, target_features.expand_as(features))
    loss = loss + target_loss
    optim_delta.zero_grad()
    optim_model.zero_grad()
    loss.backward()
    optim_delta.step()
    optim_model.step()
    with torch.no_grad():
        delta.clamp_(-1.5, 1.5)
    if step % 80 == 0:
        print(f"step {step:3d}  loss {loss.item():.4f}  of which features {target_loss.item():.4f}")

with torch.no_grad():
    gap = F.mse_loss(reference(base + delta)[1], target_features.expand(64, -1)).item()
print(f"distance to the target features at the end: {gap:.4f}")
