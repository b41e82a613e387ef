import numpy as np
import torch
import torch.nn as nn


def corners(boxes):
    x, y, w, h = boxes.unbind(-1)
    xs = torch.stack([x - w / 2, x + w / 2, x + w / 2, x - w / 2], dim=-1)
    ys = torch.stack([y - h / 2, y - h / 2, y + h / 2, y + h / 2], dim=-1)
    return torch.stack([xs, ys], dim=-1)


def hull_vertices(points):
    order = np.lexsort((points[:, 1], points[:, 0]))

    def half(indices):
        chain = []
        for i in indices:
            while len(chain) > 1:
                a, b = points[chain[-1]] - points[chain[-2]], points[i] - points[chain[-2]]
                if a[0] * b[1] - a[1] * b[0] > 0:
                    break
                chain.pop()
            chain.append(int(i))
        return chain[:-1]

    return half(order) + half(order[::-1])


class Polygon:
    def __init__(self, vertices):
        x, y = vertices.unbind(-1)
        self.area = 0.5 * (x * y.roll(-1) - y * x.roll(-1)).sum().abs()


def intersection_union(p, t):
    low = torch.maximum(p[:2] - p[2:] / 2, t[:2] - t[2:] / 2)
    high = torch.minimum(p[:2] + p[2:] / 2, t[:2] + t[2:] / 2)
    inter = (high - low).clamp_min(0).prod()
    return inter, p[2:].prod() + t[2:].prod() - inter


def giou_loss(pred, target):
    loss, ious = 0.0, []
    for p, t, p_cons, t_cons in zip(pred, target, corners(pred), corners(target)):
        inter, union = intersection_union(p, t)
        iou = inter / (union + 1e-16)
        convex_conners = torch.cat([p_cons, t_cons], dim=0)
        convex_conners = convex_conners[hull_vertices(convex_conners.detach().numpy())]
        convex_area = Polygon(convex_conners).area
        loss = loss + 1.0 - (iou - (convex_area - union) / (convex_area + 1e-16))
        ious.append(iou.item())
    return loss / len(pred), ious


def make_scenes(n, cells=8):
    target = torch.cat([6 * torch.rand(n, 2) - 3, 0.5 + 1.0 * torch.rand(n, 2)], dim=1)
    return torch.cat([target, target[:, :2] * target[:, 2:]], dim=1) + 0.02 * torch.randn(n, 6), target


def main():
    torch.manual_seed(0)
    x, target = make_scenes(400)
    net = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 4))
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)

    def predict(features):
        raw = net(features)
        return torch.cat([raw[:, :2], 3 * torch.sigmoid(raw[:, 2:])], dim=1)

    for epoch in range(1, 11):
        total, seen = 0.0, []
        for rows in torch.randperm(len(x)).split(20):
            loss, ious = giou_loss(predict(x[rows]), target[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total, seen = total + loss.item() * len(rows), seen + ious
        if epoch % 2 == 0:
            seen = torch.tensor(seen)
            with torch.no_grad():
                off = (predict(x) - target)[:, :2].norm(dim=1).mean()
            print(
                f"epoch {epoch:2d}: loss {total / len(x):.3f}  mean IoU {seen.mean():.3f}  "
                f"without overlap {(seen == 0).float().mean():.3f}  centers off by {off:.3f}"
            )


if __name__ == "__main__":
    main()
