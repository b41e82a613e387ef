import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Sine(nn.Module):
    def __init__(self, w0):
        super().__init__()
        self.w0 = w0

    def forward(self, x):
        return torch.sin(self.w0 * x)


class Siren(nn.Module):
    def __init__(self, dim_in, dim_out, w0=30.0, c=6.0, is_first=False, activation=None):
        super().__init__()
        self.dim_in = dim_in
        self.is_first = is_first
        weight = torch.zeros(dim_out, dim_in)
        bias = torch.zeros(dim_out)
        self.init_(weight, bias, c=c, w0=w0)
        self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(bias)
        self.activation = Sine(w0) if activation is None else activation

    def init_(self, weight, bias, c, w0):
        w_std = 1 / self.dim_in if self.is_first else math.sqrt(c / self.dim_in) / w0
        weight.uniform_(-w_std, w_std)
        bias.uniform_(-w_std, w_std)

    def forward(self, x):
        return self.activation(F.linear(x, self.weight, self.bias))


class SirenNet(nn.Module):
    def __init__(self, dim_in, dim_hidden, dim_out, num_layers, w0=30.0):
        super().__init__()
        self.layers = nn.ModuleList(
            Siren(dim_in if i == 0 else dim_hidden, dim_hidden, w0=w0, is_first=i == 0)
            for i in range(num_layers)
        )
        self.last_layer = Siren(dim_hidden, dim_out, w0=w0, activation=nn.Identity())

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.last_layer(x)


def picture(side):
    axis = torch.linspace(-1, 1, side)
    v, u = torch.meshgrid(axis, axis, indexing="ij")
    image = 0.5 * torch.sin(40 * u * v) + 0.3 * torch.sign(torch.sin(18 * u) * torch.sin(14 * v))
    image = image + 0.3 * (u**2 + v**2 < 0.3).float()
    return torch.stack([u, v], dim=-1).reshape(-1, 2), image.reshape(-1, 1)


def main():
    torch.manual_seed(0)
    coords, pixels = picture(48)
    net = SirenNet(2, 64, 1, num_layers=3)
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-4)
    for step in range(1, 301):
        loss = F.mse_loss(net(coords), pixels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == 1 or step % 75 == 0:
            with torch.no_grad():
                first = net.layers[0]
                spread = (30 * F.linear(coords, first.weight, first.bias)).std().item()
            psnr = 10 * math.log10((pixels.max() - pixels.min()).item() ** 2 / loss.item())
            print(
                f"step {step:3d}: mse {loss.item():.4f}  PSNR {psnr:5.2f} dB  input of first sine: std {spread:.2f}"
            )


if __name__ == "__main__":
    main()
