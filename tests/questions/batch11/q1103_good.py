import torch
import torch.nn as nn


def bbox_overlaps(pred, target):
    lt = torch.max(pred[:, :2], target[:, :2])
    rb = torch.min(pred[:, 2:], target[:, 2:])
    wh = (rb - lt).clamp(min=0)
    overlap = wh[:, 0] * wh[:, 1]
    area1 = (pred[:, 2] - pred[:, 0]) * (pred[:, 3] - pred[:, 1])
    area2 = (target[:, 2] - target[:, 0]) * (target[:, 3] - target[:, 1])
    return overlap / (area1 + area2 - overlap)


def iou_loss(pred_bboxes, target_bboxes):
    ious = bbox_overlaps(pred_bboxes, target_bboxes).clamp(min=1e-6)
    return -ious.log()


class BoxHead(nn.Module):
    def __init__(self, in_dim=20):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(in_dim, 64), nn.ReLU())
        self.centre = nn.Linear(64, 2)
        self.size = nn.Linear(64, 2)

    def forward(self, feat):
        h = self.trunk(feat)
        centre = torch.sigmoid(self.centre(h))
        half = 0.1 + 0.3 * torch.sigmoid(self.size(h))
        return torch.cat([centre - half, centre + half], dim=1)


class Scenes:
    def __init__(self, dim=20):
        self.mix = torch.randn(dim, 4)

    def batch(self, n):
        feat = torch.randn(n, self.mix.shape[0])
        raw = torch.sigmoid(feat @ self.mix / 2)
        half = 0.05 + 0.15 * raw[:, 2:]
        return feat, torch.cat([raw[:, :2] - half, raw[:, :2] + half], dim=1)


def train(epochs=6, iters=40):
    torch.manual_seed(1)
    scenes = Scenes()
    head = BoxHead()
    optimizer = torch.optim.SGD(head.parameters(), lr=0.02, momentum=0.9)
    for epoch in range(epochs):
        running = 0.0
        for _ in range(iters):
            feat, gt = scenes.batch(64)
            loss = iou_loss(head(feat), gt).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(head.parameters(), 5.0)
            optimizer.step()
            running += loss.item()
        print(f"epoch {epoch}: loss_bbox {running / iters:.4f}")


train()
