import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
torch.set_num_threads(1)


class SmallNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(16)
        self.drop = nn.Dropout(0.2)
        self.fc = nn.Linear(16 * 4 * 4, 5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        return self.fc(self.drop(x.flatten(1)))


class Trigger:
    def __init__(self, model, steps=5):
        self.model = model
        self.steps = steps

    def generate(self, x, target):
        self.model.eval()
        mask = torch.full((1, 1, 16, 16), -3.0, requires_grad=True)
        pattern = torch.zeros(1, 1, 16, 16, requires_grad=True)
        optimizer = torch.optim.Adam([mask, pattern], lr=0.1)
        y = torch.full((x.size(0),), target)
        for _ in range(self.steps):
            m = torch.sigmoid(mask)
            x_adv = (1 - m) * x + m * pattern
            loss = F.cross_entropy(self.model(x_adv), y) + 1e-3 * m.abs().sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        self.model.train()
        return torch.sigmoid(mask).detach(), pattern.detach()


def make_set(n):
    y = torch.randint(0, 5, (n,))
    x = 110 + 40 * torch.randn(n, 1, 16, 16)
    for k in range(5):
        x[y == k, :, 3 * k:3 * k + 3, :] += 25
    return TensorDataset(x.clamp(0, 255) / 255, y)


train_loader = DataLoader(make_set(640), batch_size=64, shuffle=True)
test_set = make_set(400)
test_loader = DataLoader(test_set, batch_size=100)

model = SmallNet()
trigger = Trigger(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

for epoch in range(6):
    model.train()
    total = 0.0
    for x, y in train_loader:
        m, p = trigger.generate(x[:16], target=epoch % 5)
        x_adv = (1 - m) * x[:16] + m * p
        x_all, y_all = torch.cat([x, x_adv]), torch.cat([y, y[:16]])
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x_all), y_all)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        acc = sum((model(x).argmax(1) == y).sum().item() for x, y in test_loader) / len(test_set)
    print(f"epoch {epoch}  loss {total / len(train_loader):.4f}  test acc {acc:.3f}  "
          f"bn1 mean {model.bn1.running_mean.abs().mean():.3f} batches {int(model.bn1.num_batches_tracked)}")
