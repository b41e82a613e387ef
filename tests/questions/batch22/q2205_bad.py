import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(21)
SIZE, STRIDE = 64, 8


class Blobs(Dataset):
    def __init__(self, n):
        self.records = []
        for _ in range(n):
            w, h = torch.randint(10, 30, (2,)).tolist()
            x = int(torch.randint(0, SIZE - w, (1,)))
            y = int(torch.randint(0, SIZE - h, (1,)))
            self.records.append((x, y, w, h))

    def __len__(self):
        return len(self.records)

    def __getitem__(self, i):
        x, y, w, h = self.records[i]
        image = 0.1 * torch.randn(3, SIZE, SIZE, generator=torch.Generator().manual_seed(i))
        image[:, y:y + h, x:x + w] += torch.tensor([0.9, 0.5, 0.2]).view(3, 1, 1)
        boxes = torch.tensor([x, y, w, h], dtype=torch.float32)
        return image, boxes


def make_anchors(size=20.0):
    c = (torch.arange(SIZE // STRIDE) + 0.5) * STRIDE
    cy, cx = torch.meshgrid(c, c, indexing="ij")
    cx, cy = cx.reshape(-1), cy.reshape(-1)
    return torch.stack([cx - size / 2, cy - size / 2, cx + size / 2, cy + size / 2], dim=1)


def encode(boxes, anchors):
    aw, ah = anchors[:, 2] - anchors[:, 0], anchors[:, 3] - anchors[:, 1]
    ax, ay = anchors[:, 0] + aw / 2, anchors[:, 1] + ah / 2
    bw, bh = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    bx, by = boxes[:, 0] + bw / 2, boxes[:, 1] + bh / 2
    return torch.stack([(bx - ax) / aw, (by - ay) / ah, torch.log(bw / aw), torch.log(bh / ah)], dim=1)


def decode(deltas, anchors):
    aw, ah = anchors[:, 2] - anchors[:, 0], anchors[:, 3] - anchors[:, 1]
    cx = anchors[:, 0] + aw / 2 + deltas[:, 0] * aw
    cy = anchors[:, 1] + ah / 2 + deltas[:, 1] * ah
    w, h = aw * deltas[:, 2].exp(), ah * deltas[:, 3].exp()
    return torch.stack([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2], dim=1)


def iou(a, b):
    lt, rb = torch.maximum(a[:, :2], b[:, :2]), torch.minimum(a[:, 2:], b[:, 2:])
    inter = (rb - lt).clamp(min=0).prod(dim=1)
    return inter / ((a[:, 2:] - a[:, :2]).prod(dim=1) + (b[:, 2:] - b[:, :2]).prod(dim=1) - inter)


class RPN(nn.Module):
    def __init__(self, w=16):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, w, 3, 2, 1), nn.ReLU(), nn.Conv2d(w, 2 * w, 3, 2, 1), nn.ReLU(),
            nn.Conv2d(2 * w, 2 * w, 3, 2, 1), nn.ReLU(), nn.Conv2d(2 * w, 2 * w, 3, 1, 1), nn.ReLU(),
            nn.Conv2d(2 * w, 2 * w, 3, 1, 1), nn.ReLU())
        self.cls_logits = nn.Conv2d(2 * w, 1, 1)
        self.bbox_pred = nn.Conv2d(2 * w, 4, 1)

    def forward(self, x):
        f = self.backbone(x)
        return self.cls_logits(f).flatten(1), self.bbox_pred(f).flatten(2).transpose(1, 2)


anchors = make_anchors()
loader = DataLoader(Blobs(400), batch_size=16, shuffle=True)
model = RPN()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)

for epoch in range(15):
    total_obj = total_reg = 0.0
    for images, boxes in loader:
        logits, deltas = model(images)
        centers = (boxes[:, :2] + boxes[:, 2:]) / 2
        cell = (centers / STRIDE).long().clamp(0, SIZE // STRIDE - 1)
        best = cell[:, 1] * (SIZE // STRIDE) + cell[:, 0]
        loss_obj = F.cross_entropy(logits, best)
        picked = deltas[torch.arange(len(best)), best]
        loss_reg = F.smooth_l1_loss(picked, encode(boxes, anchors[best]))
        loss = loss_obj + loss_reg
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total_obj += loss_obj.item()
        total_reg += loss_reg.item()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1}  loss_objectness {total_obj / len(loader):.4f}  loss_rpn_box_reg {total_reg / len(loader):.4f}")

with torch.no_grad():
    test = Blobs(64)
    images = torch.stack([test[i][0] for i in range(64)])
    truth = torch.tensor([[x, y, x + w, y + h] for x, y, w, h in test.records], dtype=torch.float32)
    logits, deltas = model(images)
    top = logits.argmax(1)
    found = decode(deltas[torch.arange(64), top], anchors[top])
    print("mean IoU", round(iou(found, truth).mean().item(), 4))
