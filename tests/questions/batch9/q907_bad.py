"""Training a classifier on a folder of images (one folder a class) with the library's dataloaders."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)

N_CLASSES = 6
PROTOS = torch.randn(N_CLASSES, 1, 12, 12)


class ImageFolderLike(Dataset):
    """Lists the files class folder by class folder, as ImageFolder does."""

    def __init__(self, per_class, seed):
        g = torch.Generator().manual_seed(seed)
        self.samples = []
        for cls in range(N_CLASSES):
            for _ in range(per_class):
                self.samples.append((PROTOS[cls] + 2.5 * torch.randn(1, 12, 12, generator=g), cls))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        return self.samples[i]


def build_dataloader(dataset, params):
    return DataLoader(dataset, **params)


class SmallNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
        )
        self.fc = nn.Linear(32 * 9, N_CLASSES)

    def forward(self, x):
        return self.fc(self.features(x).flatten(1))


train_params = {"batch_size": 32}
train_loader = build_dataloader(ImageFolderLike(256, seed=1), train_params)
val_loader = build_dataloader(ImageFolderLike(32, seed=2), {"batch_size": 64})

model = SmallNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-4)
for epoch in range(6):
    model.train()
    running = 0.0
    for images, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        running += loss.item()
    model.eval()
    correct = 0
    with torch.no_grad():
        for images, labels in val_loader:
            correct += (model(images).argmax(1) == labels).sum().item()
    print(
        f"epoch {epoch}: train loss {running / len(train_loader):.4f} val acc {correct / (32 * N_CLASSES):.3f}"
    )
