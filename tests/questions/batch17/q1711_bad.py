import math

import torch
from torch import nn

torch.manual_seed(0)


def compute_ciou(pred, target):
    px1, py1, px2, py2 = pred.unbind(-1)
    tx1, ty1, tx2, ty2 = target.unbind(-1)
    w1, h1 = (px2 - px1).clamp(min=1e-6), (py2 - py1).clamp(min=1e-6)
    w2, h2 = tx2 - tx1, ty2 - ty1
    inter_w = (torch.min(px2, tx2) - torch.max(px1, tx1)).clamp(min=0)
    inter_h = (torch.min(py2, ty2) - torch.max(py1, ty1)).clamp(min=0)
    inter = inter_w * inter_h
    iou = inter / (w1 * h1 + w2 * h2 - inter + 1e-7)

    enclose_w = torch.max(px2, tx2) - torch.min(px1, tx1)
    enclose_h = torch.max(py2, ty2) - torch.min(py1, ty1)
    diagonal = enclose_w**2 + enclose_h**2 + 1e-7
    center = ((px1 + px2 - tx1 - tx2) ** 2 + (py1 + py2 - ty1 - ty2) ** 2) / 4
    u = center / diagonal

    v = (4 / math.pi**2) * (torch.atan(w2 / h2) - torch.atan(w1 / h1)) ** 2
    with torch.no_grad():
        alpha = v / (1 - iou + v + 1e-7)
    cious = iou - u + alpha * v
    return iou, cious


class BoxRegression(nn.Module):
    def __init__(self, anchors):
        super().__init__()
        self.center = nn.Parameter(anchors[:, :2].clone())
        self.log_size = nn.Parameter(anchors[:, 2:].log())

    def forward(self):
        size = self.log_size.exp()
        return torch.cat([self.center - size / 2, self.center + size / 2], dim=1)


def to_corners(boxes):
    return torch.cat([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2], dim=1)


n = 600
angle, distance = torch.rand(n, 1) * 2 * math.pi, 2 + 2 * torch.rand(n, 1)
height_over_width = 3 + 2 * torch.rand(n, 1)
target_size = torch.cat([height_over_width**-0.5, height_over_width**0.5], dim=1)
target = to_corners(torch.cat([torch.zeros(n, 2), target_size], dim=1))
anchors = torch.cat([distance * angle.cos(), distance * angle.sin(), torch.ones(n, 2)], dim=1)

model = BoxRegression(anchors)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
for step in range(400):
    iou, cious = compute_ciou(model(), target)
    loss = (1 - cious).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0 or step == 399:
        size = model.log_size.detach().exp()
        ratio = (size[:, 1] / size[:, 0]).median().item()
        print(
            f"step {step}: loss {loss.item() / n:.3f}  IoU {iou.mean().item():.3f}  median height/width {ratio:.2f}"
        )
print(f"median height/width of the targets {height_over_width.median().item():.2f}")
