import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(0)


class BackboneWrapper(nn.Module):
    def __init__(self, backbone, feat, hidden=64, out=32):
        super().__init__()
        self.backbone = backbone
        self.projector = nn.Sequential(nn.Linear(feat, hidden), nn.BatchNorm1d(hidden), nn.ReLU(),
                                       nn.Linear(hidden, out))

    def forward(self, x):
        return self.projector(self.backbone(x))


class BYOL(nn.Module):
    def __init__(self, model, beta=0.99):
        super().__init__()
        self.beta = beta
        self.online = BackboneWrapper(model, 32)
        self.predictor = nn.Sequential(nn.Linear(32, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32))
        self.target = copy.deepcopy(self.online)

    def forward(self, x):
        return self.predictor(self.online(x))

    @torch.no_grad()
    def update_target(self):
        for p, pt in zip(self.online.parameters(), self.target.parameters()):
            pt.data = self.beta * pt.data + (1 - self.beta) * p.data


def normalized_mse(x, y):
    return torch.mean(2 - 2 * (F.normalize(x, dim=-1) * F.normalize(y, dim=-1)).sum(-1))


def augment(x):
    x = x + 0.6 * torch.randn_like(x)
    return x * (torch.rand_like(x) > 0.2)


centres = torch.randn(6, 24) * 1.2
labels = torch.randint(6, (1200,))
images = centres[labels] + 0.6 * torch.randn(1200, 24)

backbone = nn.Sequential(nn.Linear(24, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32))
byol = BYOL(backbone)
optimizer = torch.optim.Adam(byol.parameters(), lr=2e-3, weight_decay=1e-6)
for epoch in range(12):
    total = 0.0
    for x in images[torch.randperm(1200)].split(100):
        x1, x2 = augment(x), augment(x)
        pred1, pred2 = byol(x1), byol(x2)
        with torch.no_grad():
            targ1, targ2 = byol.target(x1), byol.target(x2)
        loss = normalized_mse(pred1, targ2) + normalized_mse(pred2, targ1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        byol.update_target()
        total += loss.item()
    if epoch % 3 == 2:
        byol.eval()
        with torch.no_grad():
            z = F.normalize(byol.online.backbone(images), dim=1)
            knn = (z[600:] @ z[:600].t()).argmax(1)
            acc = (labels[:600][knn] == labels[600:]).float().mean()
            lag = sum((p - q).abs().sum() for p, q in zip(byol.online.parameters(), byol.target.parameters()))
        byol.train()
        print(f"epoch {epoch}  loss {total / 12:.4f}  1-nn accuracy {acc:.3f}  online - target {lag:.4f}")
