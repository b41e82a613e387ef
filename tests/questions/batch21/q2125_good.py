import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(8)


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.alpha = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        out = F.relu(self.conv1(x))
        out = self.conv2(out)
        out = self.alpha * out + x
        return F.relu(out)


class ReZeroNet(nn.Module):
    def __init__(self, classes=6, channels=16, depth=10):
        super().__init__()
        self.stem = nn.Conv2d(1, channels, 3, padding=1)
        self.blocks = nn.Sequential(*[Block(channels) for _ in range(depth)])
        self.head = nn.Linear(channels * 9, classes)

    def forward(self, x):
        x = F.relu(self.stem(x))
        x = self.blocks(x)
        x = F.adaptive_avg_pool2d(x, 3)
        return self.head(x.flatten(1))


def shapes(n, size=9):
    y = torch.randint(0, 6, (n,))
    x = 0.3 * torch.randn(n, 1, size, size)
    for i in range(n):
        c = int(torch.randint(1, size - 1, (1,)))
        if y[i] == 0:
            x[i, 0, c, :] += 1
        elif y[i] == 1:
            x[i, 0, :, c] += 1
        elif y[i] == 2:
            x[i, 0].diagonal().add_(1)
        elif y[i] == 3:
            x[i, 0].fliplr().diagonal().add_(1)
        elif y[i] == 4:
            x[i, 0, c - 1 : c + 2, c - 1 : c + 2] += 1
        else:
            x[i, 0, 0, :] += 1
            x[i, 0, -1, :] += 1
    return x, y


x_train, y_train = shapes(1200)
x_test, y_test = shapes(400)
model = ReZeroNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(8):
    model.train()
    running = 0.0
    for idx in torch.randperm(len(x_train)).split(50):
        loss = F.cross_entropy(model(x_train[idx]), y_train[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item() * len(idx)
    if epoch % 2 == 1:
        print(f"epoch {epoch + 1} loss {running / len(x_train):.4f}")

model.eval()
with torch.no_grad():
    acc = (model(x_test).argmax(1) == y_test).float().mean().item()
print(f"final loss {running / len(x_train):.4f}")
print(f"test accuracy {acc:.3f}")
