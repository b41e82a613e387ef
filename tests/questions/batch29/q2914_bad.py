import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(13)
torch.set_num_threads(1)


class ClassBlock(nn.Module):
    def __init__(self, input_dim, class_num, num_bottleneck=32):
        super().__init__()
        self.add_block = nn.Sequential(nn.Linear(input_dim, num_bottleneck),
                                       nn.BatchNorm1d(num_bottleneck), nn.Dropout(0.2))
        self.classifier = nn.Linear(num_bottleneck, class_num)

    def forward(self, x):
        return self.classifier(self.add_block(x))


class ft_net(nn.Module):
    def __init__(self, class_num):
        super().__init__()
        self.model = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(),
                                   nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d((1, 1)))
        self.classifier = ClassBlock(32, class_num)

    def forward(self, x):
        x = self.model(x)
        x = torch.squeeze(x)
        x = self.classifier(x)
        return x


def make_people(n):
    y = torch.randint(0, 8, (n,))
    x = 0.3 * torch.randn(n, 3, 16, 8)
    for k in range(8):
        x[y == k, k % 3, :8] += 0.5 * (1 + k // 3)
        x[y == k, (k + 1) % 3, 8:] -= 0.3 * (k // 2)
    return TensorDataset(x, y)


train_loader = DataLoader(make_people(400), batch_size=32, shuffle=True, drop_last=True)
val_set = make_people(129)
val_loader = DataLoader(val_set, batch_size=32)

model = ft_net(8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
criterion = nn.CrossEntropyLoss()

for epoch in range(5):
    model.train()
    total = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in val_loader:
            correct += (model(x).argmax(1) == y).sum().item()
    print(f"epoch {epoch}  loss {total / len(train_loader):.4f}  val acc {correct / len(val_set):.3f}")
