import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(7)
WIDTH, CLASSES = 32, 5


class CondResBlock(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.fc1 = nn.Linear(width, width)
        self.fc2 = nn.Linear(width, width)
        self.scale = nn.Linear(width, width)

    def forward(self, x):
        x_orig = x
        x = F.leaky_relu(self.fc1(x), 0.2)
        x = self.scale(x)
        x = F.leaky_relu(self.fc2(x), 0.2)
        return x


class Net(nn.Module):
    def __init__(self, depth=14):
        super().__init__()
        self.stem = nn.Linear(10, WIDTH)
        self.blocks = nn.ModuleList([CondResBlock(WIDTH, CLASSES) for _ in range(depth)])
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


centers = 1.5 * torch.randn(CLASSES, 10)
label = torch.randint(0, CLASSES, (1200,))
points = centers[label] + torch.randn(1200, 10)
loader = DataLoader(TensorDataset(points[:1000], label[:1000]), batch_size=50, shuffle=True)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(1, 9):
    model.train()
    running = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item()
    model.eval()
    with torch.no_grad():
        acc = (model(points[1000:]).argmax(1) == label[1000:]).float().mean().item()
    print(f"epoch {epoch} loss {running / len(loader):.4f} test accuracy {acc:.3f}")
