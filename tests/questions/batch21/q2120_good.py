import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)
SIZE = 32


def box_cxcywh_to_xyxy(boxes):
    cx, cy, w, h = boxes.unbind(-1)
    return torch.stack([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2], -1)


def box_area(boxes):
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def box_iou(a, b):
    left_top = torch.max(a[..., :2], b[..., :2])
    right_bottom = torch.min(a[..., 2:], b[..., 2:])
    wh = (right_bottom - left_top).clamp(min=0)
    inter = wh[..., 0] * wh[..., 1]
    union = box_area(a) + box_area(b) - inter
    return inter / (union + 1e-6), union


def generalized_box_iou(a, b):
    iou, union = box_iou(a, b)
    left_top = torch.min(a[..., :2], b[..., :2])
    right_bottom = torch.max(a[..., 2:], b[..., 2:])
    wh = (right_bottom - left_top).clamp(min=0)
    hull = wh[..., 0] * wh[..., 1]
    return iou - (hull - union) / (hull + 1e-6)


def scenes(n, gen):
    wh = 0.15 + 0.4 * torch.rand(n, 2, generator=gen)
    centre = wh / 2 + (1 - wh) * torch.rand(n, 2, generator=gen)
    boxes = torch.cat([centre, wh], 1)
    xyxy = box_cxcywh_to_xyxy(boxes) * SIZE
    pos = torch.arange(SIZE) + 0.5
    in_x = (pos > xyxy[:, 0:1]) & (pos < xyxy[:, 2:3])
    in_y = (pos > xyxy[:, 1:2]) & (pos < xyxy[:, 3:4])
    image = (in_y[:, :, None] & in_x[:, None, :]).float()
    image = image + 0.3 * torch.randn(n, SIZE, SIZE, generator=gen)
    return image.unsqueeze(1), boxes


class BoxHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 16, 3, stride=2, padding=1), nn.ReLU(),
        )
        self.mlp = nn.Sequential(nn.Flatten(), nn.Linear(16 * 16, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, image):
        return self.mlp(self.backbone(image)).sigmoid()


class BoxLoss(nn.Module):
    def __init__(self, l1=1.0, giou=2.0):
        super().__init__()
        self.l1, self.giou = l1, giou

    def forward(self, pred, target):
        loss_bbox = F.l1_loss(pred, target)
        loss_giou = 1 - generalized_box_iou(box_cxcywh_to_xyxy(pred), box_cxcywh_to_xyxy(target))
        return self.l1 * loss_bbox + self.giou * loss_giou.mean()


gen = torch.Generator().manual_seed(6)
images, boxes = scenes(2000, gen)
images_val, boxes_val = scenes(400, gen)
model, criterion = BoxHead(), BoxLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-4)

for epoch in range(15):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(images)).split(50):
        loss = criterion(model(images[idx]), boxes[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1}: train loss {total / 40:.4f}")

model.eval()
with torch.no_grad():
    pred = model(images_val)
    iou, _ = box_iou(box_cxcywh_to_xyxy(pred), box_cxcywh_to_xyxy(boxes_val))
print(f"val mean iou {iou.mean().item():.4f}")
print(f"val share with iou > 0.5 {(iou > 0.5).float().mean().item():.4f}")
print(f"val mean abs error of a coordinate {(pred - boxes_val).abs().mean().item():.4f}")
