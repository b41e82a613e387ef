import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class EdgeSeg(nn.Module):
    def __init__(self, classes=3, width=12):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU()
        )
        self.middle = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU())
        self.decoder = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        x = self.decoder(self.middle(self.encoder(x)))
        return F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)


class SegmentationLoss(nn.Module):
    def __init__(self, n_classes=3):
        super().__init__()
        self.n_classes = n_classes

    def forward(self, pred, target):
        return F.cross_entropy(pred, target)


def make_scenes(n=192, size=12):
    images = 0.3 * torch.randn(n, 1, size, size)
    labels = torch.zeros(n, size, size, dtype=torch.long)
    for k in range(n):
        for c in (1, 2):
            y, x = torch.randint(0, size - 4, (2,)).tolist()
            labels[k, y : y + 4, x : x + 4] = c
        images[k, 0] += labels[k].float() * 1.5 - 1.0
    return TensorDataset(images, labels)


def train_seg(model, dataset_loader, optimizer, criterion):
    model.train()
    losses, right, seen = 0.0, 0, 0
    for inputs, target in dataset_loader:
        outputs = model(inputs)
        loss = criterion(outputs, target)
        losses += loss.item()
        right += (outputs.argmax(1) == target).sum().item()
        seen += target.numel()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return losses / len(dataset_loader), right / seen


def main():
    loader = DataLoader(make_scenes(), batch_size=16, shuffle=True)
    model = EdgeSeg()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=4e-5)
    criterion = SegmentationLoss()
    for epoch in range(1, 9):
        loss, accuracy = train_seg(model, loader, optimizer, criterion)
        if epoch % 2 == 0:
            print(f"epoch {epoch}: loss {loss:.4f} pixel accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
