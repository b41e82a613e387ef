import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def conv3x3(i, o):
    return nn.Conv2d(i, o, 3, padding=1, bias=False)


class ResidualBlock(nn.Module):
    def __init__(self, num_channels):
        super().__init__()
        self.conv1 = conv3x3(num_channels, num_channels)
        self.bn1 = nn.BatchNorm2d(num_channels)
        self.conv2 = conv3x3(num_channels, num_channels)
        self.bn2 = nn.BatchNorm2d(num_channels)

    def forward(self, x):
        x = self.conv1(x)
        x = self.bn1(x)
        x = F.relu(x)
        x = self.conv2(x)
        x = self.bn2(x)
        x += x
        x = F.relu(x)
        return x


class RepresentationNetwork(nn.Module):
    def __init__(self, num_blocks=4, channels=8):
        super().__init__()
        self.conv = conv3x3(2, channels)
        self.bn = nn.BatchNorm2d(channels)
        self.resblocks = nn.ModuleList([ResidualBlock(channels) for _ in range(num_blocks)])
        self.value = nn.Linear(channels * 36, 1)

    def forward(self, x):
        x = F.relu(self.bn(self.conv(x)))
        for block in self.resblocks:
            x = block(x)
        return torch.tanh(self.value(x.flatten(1)))


def boards(n):
    stones = torch.randint(-1, 2, (n, 6, 6))
    x = torch.stack([(stones == 1).float(), (stones == -1).float()], 1)
    weights = torch.linspace(-1, 1, 36).sin().view(6, 6)
    y = torch.tanh((stones * weights).sum((1, 2), keepdim=True).flatten(1) / 2)
    return x, y


def main():
    x, y = boards(768)
    tx, ty = boards(256)
    model = RepresentationNetwork()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.003, momentum=0.9)
    for epoch in range(8):
        model.train()
        order = torch.randperm(len(x))
        total = 0.0
        for i in range(0, len(x), 64):
            pick = order[i : i + 64]
            loss = F.mse_loss(model(x[pick]), y[pick])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(pick)
        model.eval()
        with torch.no_grad():
            print(f"epoch {epoch} train {total / len(x):.4f} test {F.mse_loss(model(tx), ty):.4f}")


if __name__ == "__main__":
    main()
