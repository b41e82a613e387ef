"""Supervised contrastive pretraining of an embedding, one view a sample."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SupConLoss(nn.Module):
    def __init__(self, temperature=0.1):
        super().__init__()
        self.temperature = temperature

    def forward(self, features, labels):
        n = features.shape[0]
        labels = labels.view(-1, 1)
        mask = torch.eq(labels, labels.T).float()
        logits = features @ features.T / self.temperature
        logits = logits - logits.max(dim=1, keepdim=True)[0].detach()

        logits_mask = 1.0 - torch.eye(n)
        mask = mask * logits_mask

        exp_logits = torch.exp(logits) * logits_mask
        log_prob = logits - torch.log(exp_logits.sum(1, keepdim=True))
        mask_pos_pairs = mask.sum(1)
        mask_pos_pairs = torch.where(mask_pos_pairs < 1e-6, 1.0, mask_pos_pairs)
        mean_log_prob_pos = (mask * log_prob).sum(1) / mask_pos_pairs
        return -mean_log_prob_pos.mean()


class Encoder(nn.Module):
    def __init__(self, in_dim=24, feat_dim=16):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(in_dim, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.head = nn.Linear(64, feat_dim)

    def forward(self, x):
        return F.normalize(self.head(self.backbone(x)), dim=1)


n_classes = 12
protos = torch.randn(n_classes, 24)
y = torch.randint(0, n_classes, (960,))
x = protos[y] + 0.7 * torch.randn(960, 24)

model = Encoder()
criterion = SupConLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(8):
    perm = torch.randperm(960)
    total = 0.0
    for i in range(0, 960, 32):
        idx = perm[i : i + 32]
        loss = criterion(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    with torch.no_grad():
        feats = model(x)
        sim = feats @ feats.T - 2 * torch.eye(960)
        knn = (y[sim.argmax(1)] == y).float().mean().item()
    print(f"epoch {epoch}: loss {total / 30:.4f} 1-nn {knn:.3f}")
