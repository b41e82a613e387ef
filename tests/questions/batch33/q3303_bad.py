import torch
from torch import nn

torch.manual_seed(0)


def conv_bn(inc, outc, k):
    return nn.Sequential(nn.Conv2d(inc, outc, k, padding=k // 2), nn.BatchNorm2d(outc), nn.ReLU())


class MultiResBlock(nn.Module):
    def __init__(self, inc, width):
        super().__init__()
        outs = [width // 6, width // 3, width // 2]
        self.shortcut = conv_bn(inc, sum(outs), 1)
        self.conv3 = conv_bn(inc, outs[0], 3)
        self.conv5 = conv_bn(outs[0], outs[1], 3)
        self.conv7 = conv_bn(outs[1], outs[2], 3)
        self.norm = nn.BatchNorm2d(sum(outs))
        self.act = nn.ReLU()
        self.out_channels = sum(outs)

    def forward(self, x):
        short = self.shortcut(x)
        a = self.conv3(x)
        b = self.conv5(a)
        c = self.conv7(b)
        x = self.act(self.norm(torch.cat([a, b, c], dim=1)))
        x += short
        return x


class ResPath(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.skip = nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        out = self.conv(x)
        out += self.skip(x)
        return torch.relu(out)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = MultiResBlock(1, 12)
        self.path = ResPath(self.block.out_channels)
        self.head = nn.Conv2d(self.block.out_channels, 1, 1)

    def forward(self, x):
        return self.head(self.path(self.block(x)))


def batch(n):
    img = torch.rand(n, 1, 16, 16)
    mask = (nn.functional.avg_pool2d(img, 3, 1, 1) > 0.5).float()
    return img, mask


def main():
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    loss_fn = nn.BCEWithLogitsLoss()
    for step in range(80):
        img, mask = batch(8)
        loss = loss_fn(net(img), mask)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 20 == 0:
            print(step, f"{loss.item():.4f}")
    print(f"last loss {loss.item():.4f}")


main()
