import torch
import torch.nn as nn
import torch.nn.functional as F

SIZE, CELLS = 32, 8


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(32, 32, 3, padding=1),
            nn.ReLU(),
        )
        self.cls = nn.Conv2d(32, 2, 1)
        self.reg = nn.Conv2d(32, 2, 1)

    def forward(self, x):
        x = self.backbone(x)
        return self.cls(x), self.reg(x)


def draw(n, generator):
    images = 0.1 * torch.randn(n, 1, SIZE, SIZE, generator=generator)
    labels = torch.full((n, CELLS, CELLS), -1)
    sizes = torch.zeros(n, 2, CELLS, CELLS)
    for i in range(n):
        for _ in range(int(torch.randint(0, 3, (1,), generator=generator))):
            kind = int(torch.randint(0, 2, (1,), generator=generator))
            w, h = (int(v) for v in torch.randint(3, 8, (2,), generator=generator))
            x, y = (int(v) for v in torch.randint(4, SIZE - 8, (2,), generator=generator))
            patch = torch.ones(h, w)
            if kind == 1:
                patch[1:-1, 1:-1] = 0
            images[i, 0, y : y + h, x : x + w] += patch
            cy, cx = (y + h // 2) // 4, (x + w // 2) // 4
            labels[i, cy, cx] = kind
            sizes[i, :, cy, cx] = torch.tensor([w, h]) / 8
    return images, labels, sizes


def loss_of(cls_score, bbox_pred, labels, sizes):
    pos = labels >= 0
    num_pos = int(pos.sum())
    if num_pos > 0:
        score = cls_score.permute(0, 2, 3, 1)[pos]
        size = bbox_pred.permute(0, 2, 3, 1)[pos]
        loss_cls = F.cross_entropy(score, labels[pos])
        loss_bbox = F.smooth_l1_loss(size, sizes.permute(0, 2, 3, 1)[pos])
    else:
        loss_cls = cls_score.sum() * 0
        loss_bbox = bbox_pred.sum() * 0
    return {"loss_cls": loss_cls, "loss_bbox": loss_bbox}


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(2)
    images, labels, sizes = draw(600, generator)
    model = Detector()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(4):
        total = 0.0
        for rows in torch.randperm(len(images), generator=generator).split(4):
            losses = loss_of(*model(images[rows]), labels[rows], sizes[rows])
            loss = sum(losses.values())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / 150:.4f}")


if __name__ == "__main__":
    main()
