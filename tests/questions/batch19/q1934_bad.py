import torch
import torch.nn as nn

torch.manual_seed(0)
S, B, SIZE = 4, 2, 32


def make_data(n):
    imgs = torch.randn(n, 1, SIZE, SIZE) * 0.1
    objs = []
    for i in range(n):
        w, h = torch.randint(5, 22, (2,)).tolist()
        x0 = int(torch.randint(0, SIZE - w, (1,)))
        y0 = int(torch.randint(0, SIZE - h, (1,)))
        imgs[i, 0, y0:y0 + h, x0:x0 + w] += 0.7
        cx, cy = (x0 + w / 2) / SIZE, (y0 + h / 2) / SIZE
        gx, gy = int(cx * S), int(cy * S)
        objs.append((gy, gx, torch.tensor([[cx * S - gx, cy * S - gy, w / SIZE, h / SIZE]])))
    return imgs, objs


net = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.LeakyReLU(0.1), nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1), nn.LeakyReLU(0.1), nn.MaxPool2d(2),
    nn.Conv2d(32, 32, 3, padding=1), nn.LeakyReLU(0.1), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(32 * 16, 128), nn.LeakyReLU(0.1),
    nn.Linear(128, S * S * B * 5), nn.Sigmoid(), nn.Unflatten(1, (S, S, B, 5)),
)


def compute_iou(boxes, ref):
    lo = torch.max(boxes[:, :2], ref[:, :2])
    hi = torch.min(boxes[:, 2:], ref[:, 2:])
    inter = (hi - lo).clamp(min=0).prod(1)
    area = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    area_ref = (ref[:, 2:] - ref[:, :2]).prod(1)
    return inter / (area + area_ref - inter + 1e-9)


def match(pred, target):
    pred_xyxy = torch.zeros(B, 4)
    pred_xyxy[:, :2] = pred[:, 2] / float(S) - 0.5 * pred[:, 2:4]
    pred_xyxy[:, 2:4] = pred[:, 2] / float(S) + 0.5 * pred[:, 2:4]
    target_xyxy = torch.zeros(1, 4)
    target_xyxy[:, :2] = target[:, 2] / float(S) - 0.5 * target[:, 2:4]
    target_xyxy[:, 2:4] = target[:, 2] / float(S) + 0.5 * target[:, 2:4]
    return compute_iou(pred_xyxy, target_xyxy).max(0)


def yolo_loss(out, objs):
    conf_target = torch.zeros(out.shape[:-1])
    weight = torch.full(out.shape[:-1], 0.2)
    coord = 0.0
    for i, (gy, gx, target) in enumerate(objs):
        pred = out[i, gy, gx]
        with torch.no_grad():
            value, j = match(pred[:, :4].detach(), target)
        conf_target[i, gy, gx, j] = value
        weight[i, gy, gx, j] = 1.0
        coord = coord + ((pred[j, :2] - target[0, :2]) ** 2).sum()
        coord = coord + ((pred[j, 2:4].sqrt() - target[0, 2:4].sqrt()) ** 2).sum()
    conf = (weight * (out[..., 4] - conf_target) ** 2).sum()
    return (5.0 * coord + conf) / len(objs)


x, objs = make_data(1600)
xv, objs_v = make_data(300)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(13):
    total = 0.0
    for idx in torch.randperm(len(x)).split(40):
        loss = yolo_loss(net(x[idx]), [objs[i] for i in idx.tolist()])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() / 40
    print(f"epoch {epoch} loss {total:.4f}")

with torch.no_grad():
    out = net(xv)
confs, ious = [], []
for i, (gy, gx, t) in enumerate(objs_v):
    p = out[i, gy, gx]
    p = p[p[:, 4].argmax()].view(1, 5)
    box = torch.cat([p[:, :2] / S - p[:, 2:4] / 2, p[:, :2] / S + p[:, 2:4] / 2], 1)
    ref = torch.cat([t[:, :2] / S - t[:, 2:4] / 2, t[:, :2] / S + t[:, 2:4] / 2], 1)
    confs.append(p[0, 4])
    ious.append(compute_iou(box, ref)[0])
confs, ious = torch.stack(confs), torch.stack(ious)
print(f"mean confidence {confs.mean():.4f}  mean IoU {ious.mean():.4f}  |confidence - IoU| {(confs - ious).abs().mean():.4f}"
      f"  correlation {torch.corrcoef(torch.stack([confs, ious]))[0, 1]:.3f}")
