import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Normalize:
    def __init__(self, mean, std):
        self.mean, self.std = mean, std

    def __call__(self, img):
        return (img - self.mean) / self.std


class PatchDataset(Dataset):
    def __init__(self, n, transform=None):
        self.y = torch.randint(0, 4, (n,))
        self.x = 0.25 * torch.rand(n, 1, 10, 10)
        for k in range(n):
            r, c = divmod(int(self.y[k]), 2)
            self.x[k, 0, 5 * r + 1:5 * r + 4, 5 * c + 1:5 * c + 4] += 0.12 + 0.1 * torch.rand(1)
        self.transform = transform

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        img = self.x[i]
        if self.transform is not None:
            img = self.transform(img)
        return img, self.y[i]


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.fc = nn.Sequential(nn.Linear(8 * 25, 32), nn.ReLU(), nn.Linear(32, 4))

    def forward(self, x):
        h = nn.functional.max_pool2d(torch.relu(self.conv(x)), 2)
        return self.fc(h.flatten(1))


train_loader = DataLoader(PatchDataset(1200), batch_size=40, shuffle=True)
test_loader = DataLoader(PatchDataset(300, transform=Normalize(0.5, 0.5)), batch_size=100)

model = ConvNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)


@torch.no_grad()
def accuracy(loader):
    model.eval()
    return sum((model(x).argmax(1) == y).sum().item() for x, y in loader) / len(loader.dataset)


for epoch in range(8):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f} train acc {accuracy(train_loader):.3f} "
          f"test acc {accuracy(test_loader):.3f}")
