import torch
import torch.nn as nn
import torch.nn.functional as F


class SupConLoss(nn.Module):
    def __init__(self, temperature=0.07):
        super().__init__()
        self.temperature = temperature

    def forward(self, features, labels):
        n_views = features.size(1)
        contrast = torch.cat(torch.unbind(features, dim=1), dim=0)
        same = torch.eq(labels.view(-1, 1), labels.view(1, -1)).float().repeat(n_views, n_views)
        off_diag = 1 - torch.eye(same.size(0))
        logits = contrast @ contrast.t() / self.temperature
        exp_logits = torch.exp(logits) * off_diag
        log_prob = logits - torch.log(exp_logits.sum(1, keepdim=True))
        same = same * off_diag
        return -((same * log_prob).sum(1) / same.sum(1)).mean()


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 128))

    def forward(self, x):
        return self.net(x)


torch.manual_seed(0)
centres = torch.randn(10, 20) * 1.5
labels = torch.randint(0, 10, (960,))
data = centres[labels] + torch.randn(960, 20)

model = Encoder()
criterion = SupConLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(8):
    total = 0.0
    for idx in torch.randperm(960).split(96):
        views = torch.stack([data[idx] + 0.3 * torch.randn(len(idx), 20) for _ in range(2)], dim=1)
        features = model(views)
        features = F.normalize(features, dim=2)
        loss = criterion(features, labels[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} supcon loss {total / 10:.4f}")
