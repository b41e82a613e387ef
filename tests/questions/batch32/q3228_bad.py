import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class PointHead(nn.Module):
    def __init__(self, channels=16, queries=4):
        super().__init__()
        self.query = nn.Parameter(torch.randn(queries, channels) * 0.1)
        self.scale = nn.Parameter(torch.ones(channels) * 0.1)
        self.fc = nn.Linear(channels, 1)

    def forward(self, feats):
        attn = torch.softmax(feats @ self.query.t(), dim=1)
        pooled = torch.einsum("bnq,bnc->bqc", attn, feats) * self.scale
        return self.fc(pooled).squeeze(-1)


class Detector(nn.Module):
    def __init__(self, channels=16):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, channels))
        self.head = PointHead(channels)

    def forward(self, points):
        return self.head(self.backbone(points))


def children(m):
    return list(m.children())


def flatten_model(m):
    if not children(m):
        return [m]
    return sum((flatten_model(c) for c in children(m)), [])


def build_optimizer(model, lr=5e-3):
    layer_groups = [nn.Sequential(*flatten_model(model))]
    params = [{"params": [p for p in g.parameters() if p.requires_grad]} for g in layer_groups]
    return torch.optim.Adam(params, lr=lr)


def clouds(n):
    points = torch.randn(n, 20, 3)
    targets = torch.stack(
        [points[..., 0].amax(1), points[..., 1].amax(1), points[..., 2].amax(1), points.amax((1, 2))], 1
    )
    return points, targets


def main():
    model = Detector()
    optimizer = build_optimizer(model)
    test_points, test_targets = clouds(400)
    for step in range(500):
        points, targets = clouds(32)
        loss = F.mse_loss(model(points), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 99:
            with torch.no_grad():
                test = F.mse_loss(model(test_points), test_targets).item()
            print(f"step {step} loss {loss.item():.4f} test {test:.4f}")


if __name__ == "__main__":
    main()
