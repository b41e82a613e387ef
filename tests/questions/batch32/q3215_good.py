import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self, dim=10, out=4):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, out))

    def forward(self, x):
        return self.net(x)


def pairwise_distance(z):
    diff = z.unsqueeze(1) - z.unsqueeze(0)
    return torch.sqrt((diff**2).sum(dim=2) + 1e-12)


class StructureLoss(nn.Module):
    def __init__(self, weight=1.0):
        super().__init__()
        self.weight = weight

    def forward(self, z, x):
        d = pairwise_distance(z)
        with torch.no_grad():
            target = torch.cdist(x, x)
            target = target / target.mean()
        return self.weight * F.mse_loss(d / d.mean().detach(), target)


def batches(n_batches, size=48):
    basis = torch.randn(3, 10)
    for _ in range(n_batches):
        yield torch.randn(size, 3) @ basis


def main():
    model = Encoder()
    criterion = StructureLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step, x in enumerate(batches(200)):
        z = model(x)
        loss = criterion(z, x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step in (0, 1, 2) or step % 50 == 49:
            print(step, loss.item())


if __name__ == "__main__":
    main()
