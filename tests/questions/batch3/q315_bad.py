import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Residual(nn.Module):
    def __init__(self, in_channels, num_hiddens, num_residual_hiddens):
        super().__init__()
        self._block = nn.Sequential(
            nn.ReLU(),
            nn.Conv2d(in_channels, num_residual_hiddens, 3, padding=1, bias=False),
            nn.ReLU(),
            nn.Conv2d(num_residual_hiddens, num_hiddens, 1, bias=False),
        )

    def forward(self, x):
        return x + self._block(x)


class ResidualStack(nn.Module):
    def __init__(self, in_channels, num_hiddens, num_residual_layers, num_residual_hiddens):
        super().__init__()
        self._num_residual_layers = num_residual_layers
        residual = (in_channels, num_hiddens, num_residual_hiddens)
        self._layers = nn.ModuleList([Residual(*residual)] * num_residual_layers)

    def forward(self, x):
        for i in range(self._num_residual_layers):
            x = self._layers[i](x)
        return F.relu(x)


class AutoEncoder(nn.Module):
    def __init__(self, hiddens=16):
        super().__init__()
        self._encoder = nn.Sequential(
            nn.Conv2d(1, hiddens, 4, stride=2, padding=1), ResidualStack(hiddens, hiddens, 3, 8)
        )
        self._pre = nn.Conv2d(hiddens, 4, 1)
        self._decoder = nn.Sequential(
            nn.Conv2d(4, hiddens, 3, padding=1),
            ResidualStack(hiddens, hiddens, 3, 8),
            nn.ConvTranspose2d(hiddens, 1, 4, stride=2, padding=1),
        )

    def forward(self, x):
        return self._decoder(self._pre(self._encoder(x)))


def make_images(count):
    grid = torch.linspace(-1, 1, 12)
    cx, cy, r = torch.rand(3, count, 1, 1) - 0.5
    inside = (grid[None, :, None] - cx) ** 2 + (grid[None, None, :] - cy) ** 2 < (r.abs() + 0.2) ** 2
    return inside.float().unsqueeze(1)


model = AutoEncoder()
print("parameters:", sum(p.numel() for p in model.parameters()))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for i in range(150):
    data = make_images(32)
    recon_error = F.mse_loss(model(data), data)
    optimizer.zero_grad()
    recon_error.backward()
    optimizer.step()
    if i % 25 == 0:
        print(f"{i}: recon_error {recon_error.item():.5f}")
