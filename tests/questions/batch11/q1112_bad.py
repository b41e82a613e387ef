import torch
import torch.nn as nn
import torch.nn.functional as F


class AttnBlock3D(nn.Module):
    """Attention within each frame of a video."""

    def __init__(self, in_channels):
        super().__init__()
        self.norm = nn.GroupNorm(4, in_channels)
        self.q = nn.Conv3d(in_channels, in_channels, 1)
        self.k = nn.Conv3d(in_channels, in_channels, 1)
        self.v = nn.Conv3d(in_channels, in_channels, 1)
        self.proj_out = nn.Conv3d(in_channels, in_channels, 1)

    def to_frames(self, x):
        b, c, t, h, w = x.shape
        return x.reshape(b * t, c, h * w)

    def to_video(self, x, shape):
        b, c, t, h, w = shape
        return x.reshape(b, c, t, h, w)

    def forward(self, x):
        h_ = self.norm(x)
        q, k, v = (self.to_frames(f(h_)) for f in (self.q, self.k, self.v))
        attn = torch.bmm(q.transpose(1, 2), k) * q.shape[1] ** -0.5
        attn = F.softmax(attn, dim=2)
        out = torch.bmm(v, attn.transpose(1, 2))
        return x + self.proj_out(self.to_video(out, x.shape))


class VideoAE(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.conv_in = nn.Conv3d(1, ch, 3, stride=(1, 2, 2), padding=1)
        self.enc = AttnBlock3D(ch)
        self.bottleneck = nn.Conv3d(ch, 4, 1)
        self.dec = nn.Sequential(nn.Conv3d(4, ch, 3, padding=1), AttnBlock3D(ch))
        self.conv_out = nn.ConvTranspose3d(ch, 1, (1, 2, 2), stride=(1, 2, 2))

    def forward(self, x):
        z = self.bottleneck(self.enc(F.silu(self.conv_in(x))))
        return self.conv_out(F.silu(self.dec(z)))


def moving_dots(n, t=6, size=12):
    grid = torch.arange(size).float()
    start = torch.rand(n, 2) * size
    speed = torch.randn(n, 2)
    pos = start[:, None] + speed[:, None] * torch.arange(t)[None, :, None]
    pos = pos % size
    dx = (grid[None, None] - pos[..., :1]) ** 2
    dy = (grid[None, None] - pos[..., 1:]) ** 2
    return torch.exp(-(dx.unsqueeze(2) + dy.unsqueeze(3)) / 3).unsqueeze(1)


torch.manual_seed(2)
model = VideoAE()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for step in range(1, 151):
    video = moving_dots(8)
    recon = model(video)
    loss = F.mse_loss(recon, video)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step}: recon loss {loss.item():.5f}")
