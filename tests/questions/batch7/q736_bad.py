import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class SoftPool(nn.Module):
    def __init__(self, size_feat=16, regions=4, cabins=4):
        super().__init__()
        self.size_feat = size_feat
        self.regions = regions
        self.num_cabin = cabins

    def forward(self, x):
        conv1d_1 = nn.Conv1d(self.size_feat, self.size_feat, kernel_size=3, padding=1)
        conv1d_2 = nn.Conv1d(self.size_feat, self.size_feat, kernel_size=3, padding=1)
        scores = torch.softmax(x[:, : self.regions], dim=1)
        pooled = []
        for region in range(self.regions):
            order = scores[:, region].argsort(dim=1, descending=True)[:, : self.num_cabin]
            pooled.append(x.gather(2, order.unsqueeze(1).expand(-1, self.size_feat, -1)))
        feature = torch.cat(pooled, dim=2)
        feature = F.relu(conv1d_1(feature))
        return conv1d_2(feature).max(dim=2).values


class PointNetSoft(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.mlp = nn.Sequential(nn.Conv1d(3, 16, 1), nn.ReLU(), nn.Conv1d(16, 16, 1))
        self.softpool = SoftPool()
        self.head = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, classes))

    def forward(self, points):
        return self.head(self.softpool(self.mlp(points)))


def make_clouds(n, points=32):
    label = torch.randint(0, 4, (n,))
    cloud = torch.randn(n, 3, points)
    stretch = torch.tensor([[1.0, 1.0, 1.0], [2.5, 1.0, 0.3], [0.3, 2.5, 1.0], [1.0, 0.3, 2.5]])
    return cloud * stretch[label].unsqueeze(2), label


def main():
    model = PointNetSoft()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    total = 0.0
    for step in range(1, 161):
        cloud, label = make_clouds(32)
        loss = F.cross_entropy(model(cloud), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        if step % 40 == 0:
            print(f"step {step}: loss {total / 40:.4f}")
            total = 0.0
    model.eval()
    with torch.no_grad():
        cloud, label = make_clouds(400)
        print(f"test accuracy {(model(cloud).argmax(1) == label).float().mean().item():.3f}")


if __name__ == "__main__":
    main()
