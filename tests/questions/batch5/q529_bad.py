import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class ClusteringLayer(nn.Module):
    def __init__(self, in_features, out_features, alpha=1.0):
        super().__init__()
        self.alpha = alpha
        self.weight = nn.Parameter(torch.randn(out_features, in_features))

    def forward(self, x):
        distance = (x.unsqueeze(1) - self.weight).pow(2).sum(2)
        q = (1 + distance / self.alpha) ** (-(self.alpha + 1) / 2)
        return q / q.sum(1, keepdim=True)

    def set_weight(self, tensor):
        self.weight = nn.Parameter(tensor)


class DCEC(nn.Module):
    def __init__(self, n_in, n_code, clusters):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n_in, 32), nn.ReLU(), nn.Linear(32, n_code))
        self.decoder = nn.Sequential(nn.Linear(n_code, 32), nn.ReLU(), nn.Linear(32, n_in))
        self.clustering = ClusteringLayer(n_code, clusters)

    def forward(self, x):
        code = self.encoder(x)
        return self.decoder(code), self.clustering(code), code


def target(q):
    weight = q**2 / q.sum(0)
    return (weight / weight.sum(1, keepdim=True)).detach()


def rough_centres(model, x, clusters):
    with torch.no_grad():
        code = model(x)[2]
        return code[torch.randperm(len(x))[:clusters]].clone()


means = 3 * torch.randn(4, 16)
data = means[torch.randint(0, 4, (1000,))] + torch.randn(1000, 16)
model = DCEC(16, 4, clusters=4)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(10):
    for x in data[torch.randperm(1000)].split(100):
        loss = F.mse_loss(model(x)[0], x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

model.clustering.set_weight(rough_centres(model, data, 4))
before = model.clustering.weight.detach().clone()
for epoch in range(1, 21):
    for x in data[torch.randperm(1000)].split(100):
        decoded, q, _ = model(x)
        cluster_loss = F.kl_div(q.log(), target(q), reduction="batchmean")
        loss = F.mse_loss(decoded, x) + 0.5 * cluster_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 5 == 0:
        moved = (model.clustering.weight.detach() - before).norm().item()
        print(f"epoch {epoch}: clustering loss {cluster_loss.item():.4f}, centres moved {moved:.4f}")
