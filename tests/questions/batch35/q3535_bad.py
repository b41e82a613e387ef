import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.amp import autocast

torch.manual_seed(14)


class RayModel(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(12, width), nn.GELU(), nn.Linear(width, width), nn.GELU())
        self.pointmap = nn.Linear(width, 3)
        self.raymap = nn.Linear(width, 3)

    def forward(self, x):
        feature = self.backbone(x)
        return {"pointmap": self.pointmap(feature), "raymap": self.raymap(feature)}


class MultiTaskLoss(nn.Module):
    def __init__(self, point_weight=1e-4, ray_weight=1e-4):
        super().__init__()
        self.point_weight, self.ray_weight = point_weight, ray_weight

    def forward(self, outputs, batch):
        points = F.mse_loss(outputs["pointmap"].float(), batch["pointmap"])
        rays = 1 - F.cosine_similarity(outputs["raymap"].float(), batch["raymap"], dim=-1).mean()
        return self.point_weight * points + self.ray_weight * rays, points, rays


def make_batch(mixing, views=8, pixels=256):
    x = torch.randn(views, pixels, 12)
    target = torch.tanh(x @ mixing[0])
    return x, {"pointmap": target, "raymap": F.normalize(torch.tanh(x @ mixing[1]), dim=-1)}


def train():
    device = torch.device("cpu")
    model = RayModel().to(device)
    criterion = MultiTaskLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    mixing = torch.randn(2, 12, 3) * 0.4
    for step in range(150):
        x, batch = make_batch(mixing)
        optimizer.zero_grad()
        with autocast(device_type=str(device), dtype=torch.float16):
            outputs = model(x)
            loss, points, rays = criterion(outputs, batch)
        loss.backward()
        optimizer.step()
        if step % 30 == 0:
            print(f"step {step}: points {points.item():.4f} rays {rays.item():.4f}")
    zero = sum((p.grad == 0).sum().item() for p in model.parameters())
    total = sum(p.numel() for p in model.parameters())
    print(f"points {points.item():.4f} rays {rays.item():.4f} zero gradients {zero} of {total}")


train()
