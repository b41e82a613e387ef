import torch
from torch import nn


class Encoding(nn.Module):
    def __init__(self, bands=6):
        super().__init__()
        self.scale = nn.Parameter(2.0 ** torch.arange(bands))

    def forward(self, x):
        angles = x.unsqueeze(-1) * self.scale
        return torch.cat([angles.sin(), angles.cos()], dim=-1).flatten(1)


class SceneModel(nn.Module):
    def __init__(self, bands=6, hidden=48):
        super().__init__()
        self.embed_fn = Encoding(bands)
        self.decoder = nn.Sequential(nn.Linear(4 * bands, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, points):
        return self.decoder(self.embed_fn(points)).squeeze(1)


class SLAM:
    def __init__(self):
        self.model = SceneModel()
        self.pose = nn.Parameter(torch.zeros(2))
        self.optimizer = torch.optim.Adam(
            [{"params": self.model.parameters(), "lr": 5e-3}, {"params": [self.pose], "lr": 5e-3}]
        )

    def freeze_model(self):
        for param in self.model.embed_fn.parameters():
            param.require_grad = False
        for param in self.model.decoder.parameters():
            param.require_grad = False

    def step(self, points, values):
        loss = nn.functional.mse_loss(self.model(points + self.pose), values)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def mapping(self, points, values, iters):
        self.pose.requires_grad_(False)
        for _ in range(iters):
            loss = self.step(points, values)
        self.pose.requires_grad_(True)
        return loss

    def tracking(self, points, values, iters):
        self.freeze_model()
        for _ in range(iters):
            loss = self.step(points, values)
        return loss


def scene(points):
    return torch.sin(2 * points[:, 0]) * torch.cos(3 * points[:, 1]) + 0.5 * points[:, 0]


def main():
    torch.manual_seed(0)
    slam = SLAM()
    points = 2 * torch.rand(500, 2) - 1
    print(f"mapping loss {slam.mapping(points, scene(points), 400):.5f}")
    before = [p.detach().clone() for p in slam.model.parameters()]
    motion = torch.tensor([0.12, -0.08])
    view = 1.4 * torch.rand(100, 2) - 0.7
    print(f"tracking loss {slam.tracking(view, scene(view + motion), 150):.5f}")
    drift = sum((p.detach() - b).abs().sum().item() for p, b in zip(slam.model.parameters(), before))
    print(f"pose {[round(v, 3) for v in slam.pose.tolist()]}, wanted {motion.tolist()}")
    print(f"map moved by {drift:.3f}")


main()
