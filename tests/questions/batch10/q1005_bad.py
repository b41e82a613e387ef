import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)


class ConvBlock(nn.Module):
    def __init__(self, cin, cout, stride=1):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, stride=stride, padding=1)
        self.norm = nn.BatchNorm2d(cout)
        self.act = nn.ReLU()

    def forward(self, x):
        return self.act(self.norm(self.conv(x)))


class FPNHead(nn.Module):
    def __init__(self, channels=(16, 32, 48), width=16):
        super().__init__()
        self.lateral_convs = nn.ModuleList(ConvBlock(c, width) for c in channels)
        self.fpn_convs = nn.ModuleList(ConvBlock(width, width) for _ in channels)

    def forward(self, inputs):
        laterals = [conv(x) for conv, x in zip(self.lateral_convs, inputs)]
        for i in range(len(laterals) - 1, 0, -1):
            prev_shape = laterals[i - 1].shape[2:]
            laterals[i - 1] += F.interpolate(laterals[i], size=prev_shape, mode="nearest")
        outs = [conv(x) for conv, x in zip(self.fpn_convs, laterals)]
        return outs[0]


class CountingNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stage1 = ConvBlock(3, 16, 2)
        self.stage2 = ConvBlock(16, 32, 2)
        self.stage3 = ConvBlock(32, 48, 2)
        self.head = FPNHead()
        self.density = nn.Conv2d(16, 1, 1)

    def forward(self, x):
        c1 = self.stage1(x)
        c2 = self.stage2(c1)
        c3 = self.stage3(c2)
        return self.density(self.head([c1, c2, c3]))


def crowd(n=4, s=32):
    density = (torch.rand(n, 1, s // 2, s // 2) > 0.95).float()
    img = F.interpolate(density, size=(s, s)).repeat(1, 3, 1, 1)
    return img + 0.1 * torch.randn_like(img), density


net = CountingNet()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for it in range(40):
    img, density = crowd()
    pred = net(img)
    loss = F.mse_loss(pred, density)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 10 == 0:
        mae = (pred.sum((1, 2, 3)) - density.sum((1, 2, 3))).abs().mean()
        print(f"iter {it:3d}  loss {loss.item():.4f}  count MAE {mae.item():.2f}")
print(f"final loss {loss.item():.4f}")
