import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class WSConv2d(nn.Conv2d):
    def forward(self, x):
        w = self.weight
        mean = w.mean(dim=(1, 2, 3), keepdim=True)
        var = w.var(dim=(1, 2, 3), keepdim=True, unbiased=False)
        w = (w - mean) / (torch.sqrt(var) + 1e-5)
        return F.conv2d(x, w, self.bias, self.stride, self.padding, self.dilation, self.groups)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = WSConv2d(width, width, 3, padding=1)
        self.norm1 = nn.GroupNorm(4, width)
        self.conv2 = WSConv2d(width, width, 3, padding=1)
        self.norm2 = nn.GroupNorm(4, width)
        nn.init.zeros_(self.conv2.weight)

    def forward(self, x):
        out = F.relu(self.norm1(self.conv1(x)))
        return F.relu(x + self.norm2(self.conv2(out)))


class ResNet(nn.Module):
    def __init__(self, width=16, n_class=6):
        super().__init__()
        self.stem = WSConv2d(1, width, 3, padding=1)
        self.norm = nn.GroupNorm(4, width)
        self.blocks = nn.Sequential(Block(width), nn.MaxPool2d(2), Block(width))
        self.fc = nn.Linear(width, n_class)

    def forward(self, x):
        x = F.relu(self.norm(self.stem(x)))
        return self.fc(self.blocks(x).mean((2, 3)))


def textures(n, gen, n_class=6, size=16):
    label = torch.randint(0, n_class, (n,), generator=gen)
    grid = torch.stack(torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")).float()
    angle = label.float() * 3.1416 / n_class
    wave = grid[0] * angle.cos().view(-1, 1, 1) + grid[1] * angle.sin().view(-1, 1, 1)
    shift = torch.rand(n, 1, 1, generator=gen) * 6.28
    img = torch.sin(1.1 * wave + shift) + 0.8 * torch.randn(n, size, size, generator=gen)
    return img.unsqueeze(1), label


gen = torch.Generator().manual_seed(2)
train_x, train_y = textures(800, gen)
test_x, test_y = textures(300, gen)
model = ResNet()
opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)

for epoch in range(6):
    order = torch.randperm(len(train_x))
    total = 0.0
    for i in range(0, len(order), 32):
        idx = order[i:i + 32]
        loss = F.cross_entropy(model(train_x[idx]), train_y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    print(f"epoch {epoch} train loss {total / len(order):.4f}")

model.eval()
with torch.no_grad():
    acc = (model(test_x).argmax(1) == test_y).float().mean()
print(f"test accuracy {acc:.4f}")
