import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class Residual(nn.Module):
    def __init__(self, c_in, c_out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(c_in, c_out, 3, stride=stride, padding=1)
        self.conv2 = nn.Conv2d(c_out, c_out, 3, padding=1)
        self.skip = nn.Conv2d(c_in, c_out, 1, stride=stride)

    def forward(self, x):
        return F.relu(self.conv2(F.relu(self.conv1(x))) + self.skip(x))


class ResNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.layer1 = Residual(1, 12, 1)
        self.layer2 = Residual(12, 16, 2)
        self.layer3 = Residual(16, 24, 2)
        self.linear = nn.Linear(24, classes)

    def forward(self, x):
        for layer in (self.layer1, self.layer2, self.layer3):
            x = checkpoint(layer, x, use_reentrant=True)
        return self.linear(x.mean((2, 3)))


def shapes(n, generator):
    axis = torch.linspace(-1, 1, 16)
    yy, xx = torch.meshgrid(axis, axis, indexing="ij")
    y = torch.randint(4, (n,), generator=generator)
    cx, cy = 0.4 * torch.rand(2, n, 1, 1, generator=generator) - 0.2
    dx, dy = (xx - cx).abs(), (yy - cy).abs()
    radius = (dx**2 + dy**2).sqrt()
    options = torch.stack([radius < 0.5, (radius - 0.5).abs() < 0.12, dx + dy < 0.6, torch.maximum(dx, dy) < 0.45], dim=1)
    image = options[torch.arange(n), y].float()[:, None]
    return image + 0.3 * torch.randn(image.shape, generator=generator), y


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    x, y = shapes(800, generator)
    x_test, y_test = shapes(300, generator)
    model = ResNet(4)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(6):
        total = 0.0
        for rows in torch.randperm(len(x)).split(50):
            loss = F.cross_entropy(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() / 16
        with torch.no_grad():
            acc = (model(x_test).argmax(1) == y_test).float().mean()
        print(f"epoch {epoch}: loss {total:.4f}  test accuracy {acc:.3f}")


if __name__ == "__main__":
    main()
