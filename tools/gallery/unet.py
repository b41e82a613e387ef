"""A U-Net of three levels."""

import torch
from torch import nn


class Twice(nn.Module):
    def __init__(self, planes_in, planes):
        super().__init__()
        self.one, self.two = nn.Conv2d(planes_in, planes, 3, 1, 1), nn.Conv2d(planes, planes, 3, 1, 1)

    def forward(self, x):
        return torch.relu(self.two(torch.relu(self.one(x))))


class UNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.down1, self.down2, self.down3 = (
            Twice(1, width),
            Twice(width, 2 * width),
            Twice(2 * width, 4 * width),
        )
        self.pool = nn.MaxPool2d(2)
        self.wide2, self.wide1 = (nn.ConvTranspose2d(2 * n, n, 2, 2) for n in (2 * width, width))
        self.up2, self.up1 = Twice(4 * width, 2 * width), Twice(2 * width, width)
        self.last = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        one = self.down1(x)
        two = self.down2(self.pool(one))
        low = self.down3(self.pool(two))
        two = self.up2(torch.cat([self.wide2(low), two], 1))
        one = self.up1(torch.cat([self.wide1(two), one], 1))
        return self.last(one)


torch.manual_seed(0)
model = UNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(2):
    x = torch.randn(2, 1, 16, 16)
    loss = (model(x) - x.abs()).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
