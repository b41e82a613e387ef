"""Cross entropy and center loss for an embedding."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class CenterLoss(nn.Module):
    def __init__(self, num_classes, feat_dim):
        super().__init__()
        self.num_classes = num_classes
        self.centers = nn.Parameter(torch.randn(num_classes, feat_dim))

    def forward(self, x, labels):
        distmat = torch.cdist(x, self.centers) ** 2
        mask = F.one_hot(labels, self.num_classes).float()
        dist = distmat * mask
        return dist.clamp(min=1e-12, max=1e12).sum() / x.size(0)


class ConvNet(nn.Module):
    def __init__(self, num_classes, feat_dim=2):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(20, 64), nn.PReLU(), nn.Linear(64, 64), nn.PReLU())
        self.fc1 = nn.Linear(64, feat_dim)
        self.fc2 = nn.Linear(feat_dim, num_classes)

    def forward(self, x):
        feat = self.fc1(self.body(x))
        return feat, self.fc2(feat)


num_classes = 10
protos = torch.randn(num_classes, 20)
labels_all = torch.randint(0, num_classes, (1200,))
data_all = protos[labels_all] + 0.5 * torch.randn(1200, 20)

model = ConvNet(num_classes)
criterion_xent = nn.CrossEntropyLoss()
criterion_cent = CenterLoss(num_classes, feat_dim=2)
weight_cent = 0.05
params = list(model.parameters())
optimizer = torch.optim.SGD(params, lr=0.05, momentum=0.9, weight_decay=5e-4)

for epoch in range(20):
    perm = torch.randperm(1200)
    xent_sum = cent_sum = 0.0
    for i in range(0, 1200, 100):
        idx = perm[i : i + 100]
        features, outputs = model(data_all[idx])
        loss_xent = criterion_xent(outputs, labels_all[idx])
        loss_cent = criterion_cent(features, labels_all[idx])
        loss = loss_xent + weight_cent * loss_cent
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        xent_sum += loss_xent.item()
        cent_sum += loss_cent.item()
    if epoch % 4 == 3:
        print(f"epoch {epoch}: xent {xent_sum / 12:.4f} center {cent_sum / 12:.4f}")
