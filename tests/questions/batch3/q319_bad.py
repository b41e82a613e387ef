import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(29)


class TripletMarginLoss(nn.Module):
    def __init__(self, margin=0.2, avg_non_zero_only=True):
        super().__init__()
        self.margin = margin
        self.avg_non_zero_only = avg_non_zero_only

    def forward(self, embeddings, labels):
        embeddings = F.normalize(embeddings, dim=1)
        similarity = embeddings @ embeddings.t()
        same = labels[:, None] == labels[None, :]
        positive = same & ~torch.eye(len(labels), dtype=torch.bool)
        a, p, n = torch.where(positive[:, :, None] & ~same[:, None, :])
        relued = F.relu(similarity[a, n] - similarity[a, p] + self.margin)
        self.num_non_zero_triplets = (relued > 0).nonzero().size(0)
        if self.avg_non_zero_only:
            return torch.sum(relued) / self.num_non_zero_triplets
        return torch.mean(relued)


class Trunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 8))

    def forward(self, x):
        return self.net(x)


centres = torch.randn(6, 12) * 1.5
labels = torch.arange(600) % 6
samples = centres[labels] + 0.7 * torch.randn(600, 12)
model, loss_func = Trunk(), TripletMarginLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(15):
    for batch in torch.randperm(600).split(20):
        loss = loss_func(model(samples[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f} non-zero triplets {loss_func.num_non_zero_triplets}")
