import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
NUM_CLASSES = 7


def load_folder_split(per_class, seed):
    g = torch.Generator().manual_seed(seed)
    shapes = torch.randn(NUM_CLASSES, 1, 16, 16, generator=torch.Generator().manual_seed(3))
    images, labels = [], []
    for c in range(NUM_CLASSES):
        noise = torch.randn(per_class, 1, 16, 16, generator=g)
        images.append(shapes[c] + 1.5 * noise)
        labels.append(torch.full((per_class,), c))
    return TensorDataset(torch.cat(images), torch.cat(labels))


train = load_folder_split(400, seed=1)
val = load_folder_split(60, seed=2)

trainloader = DataLoader(train, batch_size=64, shuffle=False)
valloader = DataLoader(val, batch_size=64)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(nn.Linear(32 * 16, 64), nn.ReLU(), nn.Linear(64, NUM_CLASSES))

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=6, gamma=0.75)


def run_epoch(loader, training):
    net.train(training)
    loss_sum, hits, count = 0.0, 0, 0
    with torch.set_grad_enabled(training):
        for x, y in loader:
            out = net(x)
            loss = criterion(out, y)
            if training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            loss_sum += loss.item() * len(y)
            hits += (out.argmax(1) == y).sum().item()
            count += len(y)
    return loss_sum / count, hits / count


for epoch in range(8):
    train_loss, train_acc = run_epoch(trainloader, True)
    val_loss, val_acc = run_epoch(valloader, False)
    scheduler.step()
    print(f"{epoch + 1} train loss {train_loss:.4f} acc {train_acc:.4f}  val loss {val_loss:.4f} acc {val_acc:.4f}")
