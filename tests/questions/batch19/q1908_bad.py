import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
PAIRS = torch.tensor(list(itertools.combinations(range(8), 2)))


def corners_of(boxes):
    x, y, w, h, angle = boxes.unbind(-1)
    dx = torch.stack([w, -w, -w, w], -1) / 2
    dy = torch.stack([h, h, -h, -h], -1) / 2
    cos, sin = angle.cos()[..., None], angle.sin()[..., None]
    px = x[..., None] + dx * cos - dy * sin
    py = y[..., None] + dx * sin + dy * cos
    return torch.stack([px, py], -1)


def enclosing_diagonal(corners_a, corners_b):
    points = torch.cat([corners_a, corners_b], 1)
    edge = points[:, PAIRS[:, 1]] - points[:, PAIRS[:, 0]]
    length = torch.sqrt(edge[..., 0].square() + edge[..., 1].square())
    along = edge / (length[..., None] + 1e-8)
    across = torch.stack([-along[..., 1], along[..., 0]], -1)
    u = torch.einsum("bpd,bed->bep", points, along)
    v = torch.einsum("bpd,bed->bep", points, across)
    width = u.amax(-1) - u.amin(-1)
    height = v.amax(-1) - v.amin(-1)
    area = torch.where(length < 1e-4, torch.full_like(length, 1e8), width * height)
    best = area.argmin(-1, keepdim=True)
    return width.gather(1, best).square() + height.gather(1, best).square()


def diou_loss(pred, target):
    pred_corners, target_corners = corners_of(pred), corners_of(target)
    centre = (pred[:, :2] - target[:, :2]).square().sum(1, keepdim=True)
    penalty = centre / enclosing_diagonal(pred_corners, target_corners)
    overlap = F.smooth_l1_loss(pred_corners, target_corners, reduction="none").mean((1, 2))
    return (overlap + penalty.squeeze(1)).mean()


def make_batch(n, gen):
    boxes = torch.rand(n, 5, generator=gen)
    boxes = boxes * torch.tensor([4.0, 4.0, 2.0, 1.0, 1.2]) + torch.tensor([-2.0, -2.0, 1.0, 0.5, -0.6])
    jitter = torch.randn(n, 5, generator=gen) * torch.tensor([0.4, 0.4, 0.3, 0.2, 0.2])
    proposals = boxes + jitter
    proposals = torch.cat([proposals, boxes[: n // 8]])
    targets = torch.cat([boxes, boxes[: n // 8]])
    delta = targets - proposals
    fixed = torch.Generator().manual_seed(77)
    mix = torch.randn(5, 24, generator=fixed)
    features = torch.tanh(delta @ mix) + 0.05 * torch.randn(len(delta), 24, generator=gen)
    return features, proposals, targets


class Refiner(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.delta = nn.Linear(64, 5)
        nn.init.zeros_(self.delta.weight)
        nn.init.zeros_(self.delta.bias)

    def forward(self, features, proposals):
        return proposals + self.delta(self.body(features))


gen = torch.Generator().manual_seed(3)
model = Refiner()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(600):
    features, proposals, targets = make_batch(64, gen)
    loss = diou_loss(model(features, proposals), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(f"step {step} loss {loss.item():.4f}")

features, proposals, targets = make_batch(400, gen)
with torch.no_grad():
    pred = model(features, proposals)
print("centre error of proposals", round((proposals - targets)[:, :2].norm(dim=1).mean().item(), 4))
print("centre error after refining", round((pred - targets)[:, :2].norm(dim=1).mean().item(), 4))
