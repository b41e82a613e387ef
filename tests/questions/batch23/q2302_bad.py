import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

rng = np.random.RandomState(11)
torch.manual_seed(11)
SIZE, CROP, GRID = 48, 32, 4


def draw_scene():
    img = rng.rand(3, SIZE, SIZE).astype(np.float32) * 0.2
    boxes, labels = [], []
    for _ in range(rng.randint(1, 4)):
        w, h = rng.randint(8, 15, 2)
        x, y = rng.randint(0, SIZE - w), rng.randint(0, SIZE - h)
        c = rng.randint(0, 2)
        img[c, y:y + h, x:x + w] += 0.8
        boxes.append([x, y, x + w, y + h])
        labels.append(c + 1)
    return img, np.array(boxes, np.float32), np.array(labels)


class RandomCrop:
    def __call__(self, img, boxes, labels):
        x0, y0 = rng.randint(0, SIZE - CROP + 1, 2)
        img = img[:, y0:y0 + CROP, x0:x0 + CROP]
        boxes = boxes - np.array([x0, y0, x0, y0], np.float32)
        centers = (boxes[:, :2] + boxes[:, 2:]) / 2
        near = ((centers > -8) & (centers < CROP + 8)).all(1)
        return img, boxes[near].clip(0, CROP), labels[near]


class RandomMirror:
    def __call__(self, img, boxes, labels):
        if rng.rand() < 0.5:
            img = img[:, :, ::-1].copy()
            boxes = boxes.copy()
            boxes[:, [0, 2]] = CROP - boxes[:, [2, 0]]
        return img, boxes, labels


class Compose:
    def __init__(self, steps):
        self.steps = steps

    def __call__(self, img, boxes, labels):
        for step in self.steps:
            img, boxes, labels = step(img, boxes, labels)
        return img, boxes, labels


augment = Compose([RandomCrop(), RandomMirror()])
centers = (torch.arange(GRID).float() + 0.5) * CROP / GRID
cy, cx = torch.meshgrid(centers, centers, indexing="ij")
PRIORS = torch.stack([cx.flatten(), cy.flatten(), torch.full((16,), 11.), torch.full((16,), 11.)], 1)
PRIOR_CORNERS = torch.cat([PRIORS[:, :2] - 5.5, PRIORS[:, :2] + 5.5], 1)


def iou(a, b):
    lt = torch.max(a[:, None, :2], b[None, :, :2])
    rb = torch.min(a[:, None, 2:], b[None, :, 2:])
    inter = (rb - lt).clamp(min=0).prod(2)
    area = lambda t: (t[:, 2:] - t[:, :2]).prod(1)
    return inter / (area(a)[:, None] + area(b)[None] - inter)


def assign(boxes, labels):
    loc, cls = torch.zeros(16, 4), torch.zeros(16, dtype=torch.long)
    if len(boxes) == 0:
        return loc, cls
    overlap = iou(boxes, PRIOR_CORNERS)
    best, owner = overlap.max(0)
    for j, k in enumerate(overlap.argmax(1)):
        best[k], owner[k] = 2.0, j
    m = boxes[owner]
    center, wh = (m[:, :2] + m[:, 2:]) / 2, m[:, 2:] - m[:, :2]
    loc = torch.cat([(center - PRIORS[:, :2]) / PRIORS[:, 2:] / 0.1, torch.log(wh / PRIORS[:, 2:]) / 0.2], 1)
    cls = torch.where(best > 0.4, labels[owner], torch.zeros_like(owner))
    return loc, cls


net = nn.Sequential(
    nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(),
    nn.Conv2d(32, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 7, 3, 1, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=1e-2, momentum=0.9)
scenes = [draw_scene() for _ in range(300)]
reg_sum = cls_sum = 0.0

for step in range(300):
    batch = [augment(*scenes[i]) for i in rng.randint(0, len(scenes), 16)]
    images = torch.from_numpy(np.stack([b[0] for b in batch]))
    targets = [assign(torch.from_numpy(b[1]), torch.from_numpy(b[2])) for b in batch]
    gt_loc, gt_cls = torch.stack([t[0] for t in targets]), torch.stack([t[1] for t in targets])
    out = net(images).flatten(2).transpose(1, 2)
    pos = gt_cls > 0
    cls_loss = F.cross_entropy(out[..., 4:].reshape(-1, 3), gt_cls.reshape(-1))
    reg_loss = F.smooth_l1_loss(out[..., :4][pos], gt_loc[pos])
    optimizer.zero_grad()
    (cls_loss + reg_loss).backward()
    optimizer.step()
    reg_sum += reg_loss.item()
    cls_sum += cls_loss.item()
    if (step + 1) % 50 == 0:
        print("iter %d  regression loss %.4f  class loss %.4f" % (step + 1, reg_sum / 50, cls_sum / 50))
        last = reg_sum / 50
        reg_sum = cls_sum = 0.0
print("final regression loss %.4f" % last)
