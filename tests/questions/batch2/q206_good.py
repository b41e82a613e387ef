import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class ArcMarginProduct(nn.Module):
    def __init__(self, in_features, out_features, s=30.0, m=0.2):
        super().__init__()
        self.s = s
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        nn.init.xavier_uniform_(self.weight)
        self.cos_m, self.sin_m = math.cos(m), math.sin(m)

    def forward(self, features, label):
        cosine = F.linear(F.normalize(features), F.normalize(self.weight))
        sine = torch.sqrt((1.0 - torch.pow(cosine, 2)).clamp(1e-6, 1))
        phi = cosine * self.cos_m - sine * self.sin_m
        one_hot = F.one_hot(label, cosine.size(1)).float()
        output = one_hot * phi + (1.0 - one_hot) * cosine
        return output * self.s


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, x):
        return self.net(x)


def batch(n=64):
    label = torch.randint(0, 3, (n,))
    return torch.randn(n, 10) * 0.3 + 2 * F.one_hot(label, 10), label


torch.manual_seed(0)
model, metric_fc = Backbone(), ArcMarginProduct(2, 3)
optimizer = torch.optim.Adam([{"params": model.parameters()}, {"params": metric_fc.parameters()}], lr=2e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(8):
    for _ in range(50):
        data, label = batch()
        output = metric_fc(model(data), label)
        loss = criterion(output, label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    acc = (output.argmax(1) == label).float().mean()
    print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.3f}")
