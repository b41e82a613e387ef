import torch
import torch.nn as nn
import torch.nn.functional as F

activate_name = {"relu": nn.ReLU, "leaky": nn.LeakyReLU, "mish": nn.Mish}


class Convolutional(nn.Module):
    def __init__(self, cin, cout, kernel_size, activate="mish"):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, kernel_size, padding=kernel_size // 2, bias=False)
        self.norm = nn.BatchNorm2d(cout)
        self.activate = activate_name[activate]()

    def forward(self, x):
        return self.activate(self.norm(self.conv(x)))


class CSPBlock(nn.Module):
    def __init__(self, channels, hidden, residual_activation):
        super().__init__()
        self.block = nn.Sequential(
            Convolutional(channels, hidden, 1, residual_activation),
            Convolutional(hidden, channels, 3, residual_activation),
        )

    def forward(self, x):
        residual = x
        out = self.block(x)
        out = out + residual
        return out


class Darknet(nn.Module):
    def __init__(self, activate, classes=3):
        super().__init__()
        self.stem = Convolutional(1, 8, 3, activate)
        self.stages = nn.Sequential(CSPBlock(8, 4, activate), CSPBlock(8, 4, activate))
        self.head = nn.Linear(8, classes)

    def forward(self, x):
        return self.head(self.stages(self.stem(x)).mean(dim=(2, 3)))


def pictures(n):
    label = torch.randint(0, 3, (n,))
    image = torch.randn(n, 1, 12, 12)
    image[label == 1, :, ::2] += 1
    image[label == 2, :, :, ::2] += 1
    return image, label


torch.manual_seed(0)
model = Darknet("relu")
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for step in range(80):
    image, label = pictures(32)
    loss = F.cross_entropy(model(image), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 16 == 0:
        print(f"step {step} loss {loss.item():.4f}")
