import torch
import torch.nn as nn
import torch.nn.functional as F

CLASSES, SIZE = 4, 32


class DiceLoss(nn.Module):
    def __init__(self, smooth=1e-6):
        super().__init__()
        self.smooth = smooth

    def forward(self, output, targ):
        targ = F.one_hot(targ, output.shape[1]).movedim(-1, 1).float()
        output = output.softmax(dim=1)
        inter = (output * targ).sum(dim=(2, 3))
        union = (output + targ).sum(dim=(2, 3))
        return (1 - (2.0 * inter + self.smooth) / (union + self.smooth)).mean()


class SmallUnet(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.down1 = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.ReLU())
        self.down2 = nn.Sequential(nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU())
        self.up = nn.Sequential(nn.Conv2d(3 * width, width, 3, padding=1), nn.ReLU())
        self.out = nn.Conv2d(width, CLASSES, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        b = F.interpolate(b, scale_factor=2, mode="nearest")
        return self.out(self.up(torch.cat([a, b], dim=1)))


def scenes(n, generator):
    images = 0.3 * torch.randn(n, 1, SIZE, SIZE, generator=generator)
    masks = torch.zeros(n, SIZE, SIZE, dtype=torch.long)
    for i in range(n):
        for kind in range(1, CLASSES):
            y, x = (int(v) for v in torch.randint(0, SIZE - 5, (2,), generator=generator))
            h, w = [(4, 4), (3, 5), (5, 3)][kind - 1]
            images[i, 0, y : y + h, x : x + w] += (2.0, 4.0, 7.0)[kind - 1]
            masks[i, y : y + h, x : x + w] = kind
    return images, masks


def iou(pred, masks, kind):
    a, b = pred == kind, masks == kind
    return ((a & b).sum() / (a | b).sum().clamp(min=1)).item()


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    images, masks = scenes(240, generator)
    test_images, test_masks = scenes(60, generator)
    model = SmallUnet()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    criterion = DiceLoss()
    for epoch in range(12):
        total = 0.0
        for rows in torch.randperm(len(images)).split(16):
            loss = criterion(model(images[rows]), masks[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() / 15
        if epoch % 3 == 2:
            with torch.no_grad():
                pred = model(test_images).argmax(1)
            scores = " ".join(f"{iou(pred, test_masks, k):.2f}" for k in range(CLASSES))
            print(f"epoch {epoch}: loss {total:.4f}  iou per class {scores}")


if __name__ == "__main__":
    main()
