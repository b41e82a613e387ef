import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


def loss_fn(p, z):
    return 2 - 2 * F.cosine_similarity(p, z.detach(), dim=-1).mean()


def mlp(inp, hidden, out):
    return nn.Sequential(nn.Linear(inp, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Linear(hidden, out))


class BYOL(nn.Module):
    def __init__(self, width, dim=32, tau=0.97):
        super().__init__()
        self.tau = tau
        self.online_encoder = nn.Sequential(mlp(width, 128, 64), nn.ReLU(), mlp(64, 64, dim))
        self.target_encoder = copy.deepcopy(self.online_encoder)
        self.target_encoder.requires_grad_(False)
        self.online_predictor = mlp(dim, 64, dim)

    @torch.no_grad()
    def update_moving_average(self):
        pairs = zip(self.online_encoder.parameters(), self.target_encoder.parameters())
        for online, target in pairs:
            target.mul_(self.tau).add_(online, alpha=1 - self.tau)

    def forward(self, x1, x2):
        p1 = self.online_predictor(self.online_encoder(x1))
        p2 = self.online_predictor(self.online_encoder(x2))
        with torch.no_grad():
            z1, z2 = self.target_encoder(x1), self.target_encoder(x2)
        return (loss_fn(p1, z2) + loss_fn(p2, z1)) / 2


def augment(x):
    keep = (torch.rand_like(x) > 0.3).float()
    return x * keep + 0.5 * torch.randn_like(x)


def knn_accuracy(encoder, train, test, k=15):
    encoder.eval()
    with torch.no_grad():
        a, b = F.normalize(encoder(train[0]), dim=1), F.normalize(encoder(test[0]), dim=1)
    encoder.train()
    nearest = (b @ a.t()).topk(k, dim=1).indices
    return (train[1][nearest].mode(dim=1).values == test[1]).float().mean().item()


def main():
    torch.manual_seed(0)
    prototypes = torch.randn(12, 64)
    y = torch.randint(12, (3000,))
    x = prototypes[y] + 1.6 * torch.randn(3000, 64)
    train, test = (x[:2400], y[:2400]), (x[2400:], y[2400:])
    model = BYOL(64)
    start = [p.clone() for p in model.target_encoder.parameters()]
    learned = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(learned, lr=0.05, momentum=0.9, weight_decay=5e-4)
    for epoch in range(1, 31):
        for rows in torch.randperm(2400).split(100):
            batch = train[0][rows]
            loss = model(augment(batch), augment(batch))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            model.update_moving_average()
        if epoch % 5 == 0:
            moved = sum((p - q).norm() for p, q in zip(model.target_encoder.parameters(), start))
            accuracy = knn_accuracy(model.online_encoder, train, test)
            print(
                f"epoch {epoch:2d}: loss {loss.item():.3f}  target moved by {moved:.3f}  kNN {accuracy:.3f}"
            )


if __name__ == "__main__":
    main()
