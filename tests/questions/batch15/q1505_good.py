import torch
import torch.nn as nn
import torch.nn.functional as F

CLASSES = 4


class RandomFlipAndCrop:
    def __init__(self, size, pad):
        self.size, self.pad = size, pad

    def draw(self):
        return torch.rand(()) < 0.5, torch.randint(2 * self.pad + 1, (2,)).tolist()

    def __call__(self, image, drawn=None):
        flip, (top, left) = drawn or self.draw()
        image = F.pad(image, [self.pad] * 4)
        if flip:
            image = image.flip(-1)
        return image[:, top : top + self.size, left : left + self.size]


class SyntheticScenes(torch.utils.data.Dataset):
    def __init__(self, n, augment, size=20):
        self.mod1 = torch.zeros(n, 3, size, size)
        self.mod2 = torch.zeros(n, 1, size, size)
        self.gt = torch.zeros(n, 1, size, size)
        colour = torch.tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 0.2], [1.0, 0.0, 0.2], [0.0, 1.0, 0.4]])
        depth = torch.tensor([0.0, 0.5, 1.5, 0.5])
        for i in range(n):
            for label in (torch.randperm(CLASSES - 1) + 1).tolist():
                top, left = torch.randint(size - 7, (2,)).tolist()
                h, w = torch.randint(5, 9, (2,)).tolist()
                self.gt[i, 0, top : top + h, left : left + w] = label
            labels = self.gt[i, 0].long()
            self.mod1[i] = colour[labels].permute(2, 0, 1)
            self.mod2[i, 0] = depth[labels]
        self.mod1 += 0.3 * torch.randn_like(self.mod1)
        self.mod2 += 0.3 * torch.randn_like(self.mod2)
        self.data_augmentation = RandomFlipAndCrop(size, pad=4) if augment else None

    def __len__(self):
        return len(self.gt)

    def __getitem__(self, i):
        mod1, mod2, gt = self.mod1[i], self.mod2[i], self.gt[i]
        if self.data_augmentation is not None:
            drawn = self.data_augmentation.draw()
            mod1, mod2, gt = (self.data_augmentation(image, drawn) for image in (mod1, mod2, gt))
        return mod1, mod2, gt[0].long()


class SSMA(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder_mod1 = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1)
        )
        self.encoder_mod2 = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1)
        )
        self.decoder = nn.Sequential(
            nn.ReLU(), nn.Conv2d(32, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, CLASSES, 1)
        )

    def forward(self, mod1, mod2):
        return self.decoder(torch.cat([self.encoder_mod1(mod1), self.encoder_mod2(mod2)], dim=1))


def mean_iou(pred, gt):
    both = [((pred == c) & (gt == c)).sum() / ((pred == c) | (gt == c)).sum() for c in range(CLASSES)]
    return torch.stack(both).mean().item()


def main():
    torch.manual_seed(0)
    loader = torch.utils.data.DataLoader(SyntheticScenes(160, augment=True), batch_size=16, shuffle=True)
    test = SyntheticScenes(96, augment=False)
    model = SSMA()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(9):
        total = 0.0
        for mod1, mod2, gt in loader:
            loss = F.cross_entropy(model(mod1, mod2), gt)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 3 == 2:
            with torch.no_grad():
                pred = model(test.mod1, test.mod2).argmax(1)
            iou = mean_iou(pred, test.gt[:, 0].long())
            print(f"epoch {epoch:2d}: loss {total / len(loader):.3f}  test mIoU {iou:.3f}")


if __name__ == "__main__":
    main()
