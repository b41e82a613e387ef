import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
rng = np.random.default_rng(0)
SIZE = 64


def load_annotation(objects):
    boxes = np.zeros((len(objects), 4), dtype=np.uint16)
    for ix, obj in enumerate(objects):
        x1 = obj["xmin"] - 1
        y1 = obj["ymin"] - 1
        x2 = obj["xmax"] - 1
        y2 = obj["ymax"] - 1
        boxes[ix, :] = np.array([x1, y1, x2, y2]).astype(np.uint16)
    return boxes


def make_object():
    w, h = rng.integers(10, 30, 2)
    x, y = rng.integers(0, SIZE - w), rng.integers(0, SIZE - h)
    return {"xmin": int(x), "ymin": int(y), "xmax": int(x + w), "ymax": int(y + h)}


def bbox_transform(ex, gt):
    ex_w, ex_h = ex[:, 2] - ex[:, 0] + 1.0, ex[:, 3] - ex[:, 1] + 1.0
    gt_w, gt_h = gt[:, 2] - gt[:, 0] + 1.0, gt[:, 3] - gt[:, 1] + 1.0
    dx = (gt[:, 0] + 0.5 * gt_w - ex[:, 0] - 0.5 * ex_w) / ex_w
    dy = (gt[:, 1] + 0.5 * gt_h - ex[:, 1] - 0.5 * ex_h) / ex_h
    dw = torch.log(gt_w / ex_w)
    dh = torch.log(gt_h / ex_h)
    return torch.stack([dx, dy, dw, dh], dim=1)


class BoxHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.Flatten(), nn.Linear(32 * 16 * 16, 64), nn.ReLU(), nn.Linear(64, 4),
        )

    def forward(self, x):
        return self.net(x)


objects = [make_object() for _ in range(320)]
gt_boxes = torch.from_numpy(load_annotation(objects).astype(np.float32))
images = torch.zeros(len(objects), 1, SIZE, SIZE)
for img, o in zip(images, objects):
    img[0, o["ymin"]:o["ymax"], o["xmin"]:o["xmax"]] = 1.0
anchor = torch.tensor([[22.0, 22.0, 41.0, 41.0]])

model = BoxHead()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for epoch in range(5):
    total = 0.0
    for idx in torch.randperm(len(objects)).split(16):
        targets = bbox_transform(anchor.expand(len(idx), -1), gt_boxes[idx])
        loss = F.smooth_l1_loss(model(images[idx]), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / (len(objects) // 16)
    print(f"epoch {epoch}  loss_bbox {total:.4f}")
