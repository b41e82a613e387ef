import torch
import torch.nn as nn

torch.manual_seed(3)
S, SIZE = 4, 32
L_COORD, L_NOOBJ = 5.0, 0.5


def make_data(n):
    imgs = torch.randn(n, 1, SIZE, SIZE) * 0.1
    target = torch.zeros(n, S, S, 5)
    boxes = torch.zeros(n, 4)
    for i in range(n):
        w, h = torch.randint(6, 17, (2,)).tolist()
        x0 = int(torch.randint(0, SIZE - w, (1,)))
        y0 = int(torch.randint(0, SIZE - h, (1,)))
        imgs[i, 0, y0:y0 + h, x0:x0 + w] += 1.0
        cx, cy = (x0 + w / 2) / SIZE, (y0 + h / 2) / SIZE
        gx, gy = int(cx * S), int(cy * S)
        target[i, gy, gx] = torch.tensor([1.0, cx * S - gx, cy * S - gy, w / SIZE, h / SIZE])
        boxes[i] = torch.tensor([cx, cy, w / SIZE, h / SIZE])
    return imgs, target, boxes


class TinyYolo(nn.Module):
    def __init__(self):
        super().__init__()
        layers, c = [], 1
        for out in (16, 32, 64):
            layers += [nn.Conv2d(c, out, 3, padding=1), nn.BatchNorm2d(out), nn.LeakyReLU(0.1), nn.MaxPool2d(2)]
            c = out
        self.features = nn.Sequential(*layers)
        self.fc = nn.Sequential(nn.Flatten(), nn.Linear(64 * 16, 128), nn.LeakyReLU(0.1), nn.Linear(128, S * S * 5))

    def forward(self, x):
        return self.fc(self.features(x)).view(-1, S, S, 5)


def detection_loss(pred, target):
    obj = target[..., 0]
    xy = ((pred[..., 1:3] - target[..., 1:3]) ** 2).sum(-1)
    wh = ((torch.sqrt(pred[..., 3:5]) - torch.sqrt(target[..., 3:5])) ** 2).sum(-1)
    conf = (pred[..., 0] - obj) ** 2
    coord_loss = L_COORD * (obj * (xy + wh)).sum()
    conf_loss = (obj * conf).sum() + L_NOOBJ * ((1 - obj) * conf).sum()
    return (coord_loss + conf_loss) / pred.size(0)


def decode(pred):
    flat = pred.view(-1, S * S, 5)
    best = flat[..., 0].argmax(1)
    p = flat[torch.arange(len(flat)), best]
    cx = (best % S + p[:, 1]) / S
    cy = (best // S + p[:, 2]) / S
    return torch.stack([cx, cy, p[:, 3], p[:, 4]], 1)


def iou(a, b):
    lo = torch.maximum(a[:, :2] - a[:, 2:] / 2, b[:, :2] - b[:, 2:] / 2)
    hi = torch.minimum(a[:, :2] + a[:, 2:] / 2, b[:, :2] + b[:, 2:] / 2)
    inter = (hi - lo).clamp(min=0).prod(1)
    return inter / (a[:, 2:].prod(1) + b[:, 2:].prod(1) - inter)


x, t, _ = make_data(1500)
xv, tv, bv = make_data(200)
model = TinyYolo()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(6):
    model.train()
    perm = torch.randperm(len(x))
    total = 0.0
    for idx in perm.split(50):
        loss = detection_loss(model(x[idx]), t[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / 30:.4f}")

model.eval()
with torch.no_grad():
    out = model(xv)
print(f"val loss {detection_loss(out, tv).item():.4f}  mean IoU {iou(decode(out), bv).mean().item():.4f}")
