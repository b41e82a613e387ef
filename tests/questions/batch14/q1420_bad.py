import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F


def rand_bbox(size, lam):
    w, h = size[2], size[3]
    cut_rat = math.sqrt(1.0 - lam)
    cut_w, cut_h = int(w * cut_rat), int(h * cut_rat)
    cx, cy = random.randrange(w), random.randrange(h)
    bbx1, bby1 = max(cx - cut_w // 2, 0), max(cy - cut_h // 2, 0)
    bbx2, bby2 = min(cx + cut_w // 2, w), min(cy + cut_h // 2, h)
    return bbx1, bby1, bbx2, bby2


def make_images(n, size=16):
    kind = torch.randint(4, (n,))
    at = torch.arange(size).float()
    rows = torch.sin(at * 0.8)[:, None].expand(size, size)
    cols = torch.sin(at * 0.8)[None, :].expand(size, size)
    looks = torch.stack([rows, cols, rows * cols, (rows + cols) / 2])
    return looks[kind][:, None] + 0.9 * torch.randn(n, 1, size, size), kind


def main():
    torch.manual_seed(0)
    random.seed(0)
    x, y = make_images(480)
    xt, yt = make_images(300)
    model = nn.Sequential(
        nn.Conv2d(1, 8, 5, stride=2),
        nn.ReLU(),
        nn.Conv2d(8, 16, 3),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, 4),
    )
    beta = torch.distributions.Beta(torch.tensor(1.0), torch.tensor(1.0))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(8):
        total, weight, share, gap, batches = 0.0, 0.0, 0.0, 0.0, torch.randperm(len(x)).split(24)
        for rows in batches:
            images, target_a = x[rows].clone(), y[rows]
            lam = beta.sample().item()
            rand_index = torch.randperm(len(rows))
            target_b = target_a[rand_index]
            bbx1, bby1, bbx2, bby2 = rand_bbox(images.size(), lam)
            images[:, :, bbx1:bbx2, bby1:bby2] = x[rows][rand_index][:, :, bbx1:bbx2, bby1:bby2]
            output = model(images)
            loss = F.cross_entropy(output, target_a) * lam + F.cross_entropy(output, target_b) * (1.0 - lam)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            own = 1 - (bbx2 - bbx1) * (bby2 - bby1) / (images.size(2) * images.size(3))
            total, weight, share, gap = total + loss.item(), weight + lam, share + own, gap + abs(own - lam)
        n = len(batches)
        print(
            f"epoch {epoch}: loss {total / n:.3f}  weight of the own label {weight / n:.3f}  "
            f"own pixels {share / n:.3f}  difference {gap / n:.3f}"
        )
    with torch.no_grad():
        output = model(xt)
    print(
        f"test accuracy {(output.argmax(1) == yt).float().mean():.3f}  loss {F.cross_entropy(output, yt):.3f}"
    )


if __name__ == "__main__":
    main()
