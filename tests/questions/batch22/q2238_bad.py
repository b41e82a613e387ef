import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

SIZE = 32
CLASSES = 3


def draw_scene(rng):
    image = rng.normal(0.0, 0.25, (SIZE, SIZE, 3)).astype(np.float32)
    label = np.zeros((SIZE, SIZE), dtype=np.int64)
    for cls in (1, 2):
        h, w = rng.integers(7, 14, 2)
        top, left = rng.integers(0, SIZE - h), rng.integers(0, SIZE - w)
        image[top:top + h, left:left + w] += np.array([0.9, 0.2, 0.1] if cls == 1 else [0.1, 0.3, 0.9])
        label[top:top + h, left:left + w] = cls
    return image, label


def random_flip(image, label=None):
    if np.random.rand() < 0.5:
        image = image[:, ::-1]
        label = None if label is None else label[:, ::-1]
    if np.random.rand() < 0.5:
        image = image[::-1]
        label = None if label is None else label[::-1]
    return image, label


def train_transforms(example):
    image, label = example
    image, _ = random_flip(image)
    image = image * np.random.uniform(0.8, 1.2)
    return to_tensors(image, label)


def val_transforms(example):
    return to_tensors(*example)


def to_tensors(image, label):
    pixels = torch.from_numpy(np.ascontiguousarray(image, dtype=np.float32)).permute(2, 0, 1)
    return pixels, torch.from_numpy(np.ascontiguousarray(label))


class Scenes(Dataset):
    def __init__(self, n, seed, transform):
        rng = np.random.default_rng(seed)
        self.examples = [draw_scene(rng) for _ in range(n)]
        self.transform = transform

    def __len__(self):
        return len(self.examples)

    def __getitem__(self, i):
        return self.transform(self.examples[i])


class SegNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, width, 3, 2, 1), nn.ReLU())
        self.mid = nn.Sequential(nn.Conv2d(width, width * 2, 3, padding=1), nn.ReLU())
        self.head = nn.Conv2d(width * 2, CLASSES, 1)

    def forward(self, pixel_values):
        logits = self.head(self.mid(self.down(pixel_values)))
        return F.interpolate(logits, size=pixel_values.shape[-2:], mode="bilinear", align_corners=False)


def mean_iou(model, loader):
    inter, union = torch.zeros(CLASSES), torch.zeros(CLASSES)
    model.eval()
    with torch.no_grad():
        for pixels, labels in loader:
            pred = model(pixels).argmax(1)
            for c in range(CLASSES):
                inter[c] += ((pred == c) & (labels == c)).sum()
                union[c] += ((pred == c) | (labels == c)).sum()
    model.train()
    return (inter / union).mean().item()


def main():
    torch.manual_seed(0)
    np.random.seed(0)
    train_loader = DataLoader(Scenes(320, 1, train_transforms), batch_size=16, shuffle=True)
    val_loader = DataLoader(Scenes(96, 2, val_transforms), batch_size=32)
    model = SegNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for epoch in range(10):
        total = 0.0
        for pixels, labels in train_loader:
            loss = F.cross_entropy(model(pixels), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} train loss {total / len(train_loader):.4f}")
    print(f"train loss {total / len(train_loader):.4f} val mIoU {mean_iou(model, val_loader):.3f}")


if __name__ == "__main__":
    main()
