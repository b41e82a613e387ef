"""A small segmentation net, trained with a multi-class focal loss."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class FocalLossMultiClass(nn.Module):
    def __init__(self, alpha=0.25, gamma=2.0):
        super().__init__()
        self.alpha = alpha
        self.gamma = gamma

    def forward(self, logits, target):
        num_classes = logits.shape[1]
        logits = logits.permute(0, 2, 3, 1).reshape(-1, num_classes)
        target = target.view(-1)
        loss = 0.0
        for cls in range(num_classes):
            cls_target = (target == cls).float()
            cls_input = logits[:, cls]
            bce = F.binary_cross_entropy_with_logits(cls_input, cls_target, reduction="none")
            pt = torch.exp(-bce)
            alpha_t = self.alpha * cls_target + (1 - self.alpha) * (1 - cls_target)
            loss = loss + (alpha_t * (1 - pt) ** self.gamma * bce).mean()
        return loss


class SegNet(nn.Module):
    def __init__(self, num_classes=3, width=16):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1),
            nn.ReLU(),
        )
        self.head = nn.Conv2d(width, num_classes, 1)

    def forward(self, x):
        return self.head(self.body(x))


def make_batch(n=8, size=24):
    target = torch.zeros(n, size, size, dtype=torch.long)
    for k in range(n):
        r, c = torch.randint(0, size - 12, (2,)).tolist()
        target[k, r : r + 12, c : c + 12] = 1
        target[k, r + 4 : r + 9, c + 4 : c + 9] = 2
    image = target.float().unsqueeze(1) + 0.2 * torch.randn(n, 1, size, size)
    return image, target


def dice(pred, target, cls):
    p, t = pred == cls, target == cls
    return (2 * (p & t).sum() / (p.sum() + t.sum()).clamp(min=1)).item()


model = SegNet()
criterion = FocalLossMultiClass()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(200):
    image, target = make_batch()
    loss = criterion(model(image), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        with torch.no_grad():
            image, target = make_batch(16)
            pred = model(image).argmax(1)
        print(f"{step}: loss {loss.item():.4f} dice {[round(dice(pred, target, c), 3) for c in (1, 2)]}")
