import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


def random_vertical_flip(image):
    return image.flip(1) if torch.rand(()) < 0.5 else image


def color_jitter(image):
    return image * (0.8 + 0.4 * torch.rand(())) + 0.1 * torch.randn(())


def normalize(image):
    return (image - 0.5) / 0.5


class Scenes(Dataset):
    """Landscapes: the sky is bright, and in half of them the picture stands on its head."""

    def __init__(self, n, transforms):
        self.transforms = transforms
        self.labels = torch.randint(0, 2, (n,))
        slope = torch.linspace(0, 1, 12)[None, :, None].expand(n, 12, 12)
        slope = torch.where(self.labels[:, None, None] == 1, slope, 1 - slope)
        self.images = (slope + 0.3 * torch.randn(n, 12, 12)).unsqueeze(1)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        image = self.images[index]
        for transform in self.transforms:
            image = transform(image)
        return image, self.labels[index]


class SmallNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1),
            nn.ReLU(),
        )
        self.head = nn.Linear(16 * 9, 2)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


train_transforms = [
    color_jitter,
    normalize,
]
loader = DataLoader(Scenes(1024, train_transforms), batch_size=64, shuffle=True)
model = SmallNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(8):
    total = 0.0
    for images, labels in loader:
        loss = criterion(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: loss {total / len(loader):.4f}")
