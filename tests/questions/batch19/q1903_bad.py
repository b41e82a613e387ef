import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
BANDS, PATCH, CLASSES = 12, 9, 6


def make_cube(n, gen):
    signatures = 4.0 * torch.randn(CLASSES, BANDS, generator=torch.Generator().manual_seed(42))
    labels = torch.randint(0, CLASSES, (n,), generator=gen)
    scale = torch.linspace(20.0, 60.0, BANDS)
    offset = torch.linspace(900.0, 2400.0, BANDS)
    patches = signatures[labels][:, :, None, None] * 0.4
    patches = patches + torch.randn(n, BANDS, PATCH, PATCH, generator=gen) * 2.5
    patches = patches * scale[None, :, None, None] + offset[None, :, None, None]
    return patches, labels


class Patches(Dataset):
    def __init__(self, x, y, mean=None, std=None):
        self.x, self.y, self.mean, self.std = x, y, mean, std

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        patch = self.x[i]
        if self.mean is not None:
            patch = (patch - self.mean[:, None, None]) / self.std[:, None, None]
        return patch, self.y[i]


class Residual(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.skip = nn.Conv2d(cin, cout, 1, bias=False) if cin != cout else nn.Identity()

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(out)) + self.skip(x))


class SmallResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(Residual(BANDS, 24), Residual(24, 24), nn.AdaptiveAvgPool2d(1))
        self.head = nn.Linear(24, CLASSES)

    def forward(self, x):
        return self.head(self.body(x).flatten(1))


def evaluate(model, loader):
    model.eval()
    hits = total = 0
    with torch.no_grad():
        for x, y in loader:
            hits += (model(x).argmax(1) == y).sum().item()
            total += len(y)
    return hits / total


gen = torch.Generator().manual_seed(7)
train_x, train_y = make_cube(900, gen)
test_x, test_y = make_cube(300, gen)
mean = train_x.mean((0, 2, 3))
std = train_x.std((0, 2, 3))
train_set = Patches(train_x, train_y, mean, std)
test_set = Patches(test_x, test_y)
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
test_loader = DataLoader(test_set, batch_size=100)

model = SmallResNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(8):
    model.train()
    total = 0.0
    for x, y in train_loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
    print(f"epoch {epoch} loss {total / len(train_set):.4f} test acc {evaluate(model, test_loader):.3f}")

print("train acc", round(evaluate(model, train_loader), 3), "test acc", round(evaluate(model, test_loader), 3))
