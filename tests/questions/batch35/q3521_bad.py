import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Function

torch.manual_seed(0)


class Sign(Function):
    @staticmethod
    def forward(ctx, input, is_training=True):
        if is_training:
            prob = torch.rand_like(input)
            x = input.clone()
            x[(1 - input) / 2 <= prob] = 1
            x[(1 - input) / 2 > prob] = -1
            return x
        return input.sign()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


class Binarizer(nn.Module):
    def __init__(self, channels, bits):
        super().__init__()
        self.conv = nn.Conv2d(channels, bits, kernel_size=1)
        self.sign = Sign.apply

    def forward(self, x):
        return self.sign(torch.tanh(self.conv(x)), self.training)


class Compressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 16, 3, stride=2, padding=1),
            nn.ReLU(),
        )
        self.binarizer = Binarizer(16, 8)
        self.decoder = nn.Sequential(
            nn.Conv2d(8, 32, 1),
            nn.ReLU(),
            nn.PixelShuffle(2),
            nn.Conv2d(8, 8, 3, padding=1),
            nn.ReLU(),
            nn.PixelShuffle(2),
            nn.Conv2d(2, 1, 3, padding=1),
        )

    def forward(self, x):
        return self.decoder(self.binarizer(self.encoder(x)))


def make_patches(count):
    yy, xx = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
    cx, cy = torch.rand(2, count, 1, 1) * 16
    return torch.exp(-((xx - cx) ** 2 + (yy - cy) ** 2) / 20).unsqueeze(1)


def main():
    net = Compressor()
    solver = torch.optim.Adam(net.parameters(), lr=3e-3)
    for step in range(150):
        patches = make_patches(32)
        residual = patches
        losses = []
        for _ in range(2):
            output = net(residual)
            residual = residual - output
            losses.append(residual.abs().mean())
        loss = sum(losses) / len(losses)
        solver.zero_grad()
        loss.backward()
        solver.step()
        if step % 30 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    net.eval()
    with torch.no_grad():
        patches = make_patches(128)
        print(f"test l1 {F.l1_loss(net(patches), patches).item():.4f}")


main()
