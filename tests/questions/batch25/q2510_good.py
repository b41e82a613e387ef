import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(11)

CLASSES = 7
PER_CLASS = 512


def make_split(per_class, protos):
    images, labels = [], []
    for c in range(CLASSES):
        images.append(0.5 * protos[c] + 1.2 * torch.randn(per_class, 1, 16, 16))
        labels.append(torch.full((per_class,), c, dtype=torch.long))
    return TensorDataset(torch.cat(images), torch.cat(labels))


protos = torch.randn(CLASSES, 1, 16, 16)
train = make_split(PER_CLASS, protos)
val = make_split(64, protos)

trainloader = DataLoader(train, batch_size=64, shuffle=True, num_workers=0)
valloader = DataLoader(val, batch_size=128)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.head = nn.Linear(32 * 4 * 4, CLASSES)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)


def evaluate(loader):
    net.eval()
    hits, count, total = 0, 0, 0.0
    with torch.no_grad():
        for x, y in loader:
            out = net(x)
            total += criterion(out, y).item() * len(y)
            hits += (out.argmax(1) == y).sum().item()
            count += len(y)
    return total / count, hits / count


for epoch in range(8):
    net.train()
    hits, count, total = 0, 0, 0.0
    for x, y in trainloader:
        optimizer.zero_grad()
        out = net(x)
        loss = criterion(out, y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
        hits += (out.argmax(1) == y).sum().item()
        count += len(y)
    vloss, vacc = evaluate(valloader)
    print(f"{epoch + 1}  train loss {total / count:.4f}  train acc {hits / count:.4f}  val loss {vloss:.4f}  val acc {vacc:.4f}")
