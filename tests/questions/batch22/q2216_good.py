import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
rng = np.random.default_rng(0)

N_BASE, N_NOVEL, SIDE = 20, 10, 10
protos = torch.from_numpy(rng.normal(size=(N_BASE + N_NOVEL, 1, SIDE, SIDE)).astype(np.float32))


def images(classes):
    return protos[classes] + 0.9 * torch.randn(len(classes), 1, SIDE, SIDE)


def episode(pool, way=5, shot=5, query=10):
    chosen = torch.from_numpy(rng.choice(pool, way, replace=False))
    support = images(chosen.repeat_interleave(shot))
    queries = images(chosen.repeat_interleave(query))
    return support, torch.arange(way).repeat_interleave(shot), queries, torch.arange(way).repeat_interleave(query)


class Backbone(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(24, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(),
        )
        self.fc = nn.Linear(24, num_classes)
        self.use_fc = True

    def forward(self, x):
        x = self.features(x)
        if not self.use_fc:
            return x
        return self.fc(x.mean(dim=(2, 3)))


class RelationNetworks(nn.Module):
    def __init__(self, backbone, channels=24):
        super().__init__()
        self.backbone = backbone
        self.relation_module = nn.Sequential(
            nn.Conv2d(2 * channels, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(24 * 4, 16), nn.ReLU(), nn.Linear(16, 1),
        )

    def forward(self, support, labels, queries):
        s, q = self.backbone(support), self.backbone(queries)
        way = int(labels.max()) + 1
        prototypes = torch.stack([s[labels == c].mean(0) for c in range(way)])
        pairs = torch.cat([
            prototypes.unsqueeze(0).expand(len(q), -1, -1, -1, -1),
            q.unsqueeze(1).expand(-1, way, -1, -1, -1)], dim=2)
        return torch.sigmoid(self.relation_module(pairs.flatten(0, 1))).view(len(q), way)


model = Backbone(N_BASE)
few_shot = RelationNetworks(model)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for step in range(300):
    target = torch.randint(0, N_BASE, (64,))
    loss = F.cross_entropy(model(images(target)), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 99:
        print(f"step {step + 1} loss {loss.item():.4f}")

model.use_fc = False
optimizer = torch.optim.Adam(few_shot.parameters(), lr=1e-3)
few_shot.train()
for step in range(500):
    support, labels, queries, truth = episode(np.arange(N_BASE))
    loss = F.mse_loss(few_shot(support, labels, queries), F.one_hot(truth, 5).float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 99:
        print(f"episode {step + 1} loss {loss.item():.4f}")

few_shot.eval()
novel = np.arange(N_BASE, N_BASE + N_NOVEL)
right = total = 0
mse = []
with torch.no_grad():
    for _ in range(60):
        support, labels, queries, truth = episode(novel)
        scores = few_shot(support, labels, queries)
        right += (scores.argmax(1) == truth).sum().item()
        total += len(truth)
        mse.append(F.mse_loss(scores, F.one_hot(truth, 5).float()).item())
print(f"loss {np.mean(mse):.4f}")
print(f"5-way 5-shot accuracy {right / total:.4f}")
