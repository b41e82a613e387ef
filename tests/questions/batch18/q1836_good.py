import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
n_feats, scale = 12, 2


class CSB(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(n_feats * 4, n_feats * 4, 1, bias=False)

    def forward(self, x):
        h, w = x.shape[2] // 2, x.shape[3] // 2
        parts = [x[:, :, :h, :w], x[:, :, h:, :w], x[:, :, :h, w:], x[:, :, h:, w:]]
        mixed = self.conv1(torch.cat(parts, dim=1)).chunk(4, dim=1)
        out = x.clone()
        out[:, :, :h, :w] = mixed[0]
        out[:, :, h:, :w] = mixed[1]
        out[:, :, :h, w:] = mixed[2]
        out[:, :, h:, w:] = mixed[3]
        return out


class MCAB(nn.Module):
    def __init__(self):
        super().__init__()
        self.drb = nn.Sequential(
            nn.Conv2d(n_feats, n_feats, 3, padding=1), nn.ReLU(), nn.Conv2d(n_feats, n_feats, 1)
        )
        self.csb = CSB()
        self.conv3 = nn.Conv2d(n_feats, n_feats, 3, padding=1, bias=False)

    def forward(self, x):
        down_b = x + self.drb(x)
        top_b = torch.sigmoid(self.conv3(self.csb(x)))
        return down_b * top_b


class TSAN(nn.Module):
    def __init__(self):
        super().__init__()
        self.first_conv = nn.Conv2d(1, n_feats, 3, padding=1)
        self.body1, self.body2 = MCAB(), MCAB()
        self.tail = nn.Conv2d(n_feats * 2, n_feats, 1)
        self.up = nn.Sequential(nn.Conv2d(n_feats, scale**2, 3, padding=1), nn.PixelShuffle(scale))

    def forward(self, x):
        first_out = torch.relu(self.first_conv(x))
        out1 = self.body1(first_out)
        out2 = self.body2(out1)
        out = self.tail(torch.cat([out1, out2], dim=1)) + first_out
        return self.up(out) + F.interpolate(x, scale_factor=scale, mode="bilinear")


def load_batch(n=8, size=24):
    grid = torch.arange(size) / size
    freq, angle = 2 + 5 * torch.rand(n, 1, 1), 3.14 * torch.rand(n, 1, 1)
    wave = freq * (torch.cos(angle) * grid.view(1, 1, -1) + torch.sin(angle) * grid.view(1, -1, 1))
    hr = torch.sign(torch.sin(2 * torch.pi * wave)).unsqueeze(1) * 0.5
    return F.avg_pool2d(hr, scale), hr


model = TSAN()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(150):
    lr_image, hr_image = load_batch()
    loss = F.l1_loss(model(lr_image), hr_image)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if (step + 1) % 50 == 0:
        bilinear = F.l1_loss(F.interpolate(lr_image, scale_factor=scale, mode="bilinear"), hr_image).item()
        print(f"step {step + 1}: l1 {loss.item():.4f}  (bilinear {bilinear:.4f})")
