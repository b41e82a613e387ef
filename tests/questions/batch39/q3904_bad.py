import torch
import torch.nn as nn
import torch.nn.functional as F


class SpatialTransformation(nn.Module):
    def forward(self, moving_image, deformation_matrix):
        b, _, h, w = moving_image.shape
        ys, xs = torch.meshgrid(torch.linspace(-1, 1, h), torch.linspace(-1, 1, w), indexing="ij")
        grid = torch.stack([xs, ys], dim=-1).unsqueeze(0)
        step = torch.tensor([2.0 / (w - 1), 2.0 / (h - 1)])
        grid = grid + deformation_matrix.permute(0, 2, 3, 1) * step
        return F.grid_sample(moving_image, grid, align_corners=True, padding_mode="border")


class VoxelMorph2d(nn.Module):
    def __init__(self, in_channels=2, width=16):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(in_channels, width, 3, padding=1), nn.LeakyReLU(0.2), nn.Conv2d(width, width, 3, padding=1, stride=2), nn.LeakyReLU(0.2), nn.Conv2d(width, width, 3, padding=1), nn.LeakyReLU(0.2))
        self.dec = nn.Sequential(nn.Conv2d(width + in_channels, width, 3, padding=1), nn.LeakyReLU(0.2), nn.Conv2d(width, 2, 3, padding=1))
        self.spatial_transform = SpatialTransformation()

    def forward(self, moving_image, fixed_image):
        x = torch.cat([moving_image, fixed_image], dim=1)
        h = F.interpolate(self.enc(x), scale_factor=2, mode="bilinear", align_corners=False)
        deformation_matrix = self.dec(torch.cat([h, x], dim=1))
        registered_image = self.spatial_transform(moving_image, deformation_matrix)
        return registered_image, deformation_matrix


def smooothing_loss(y_pred):
    dy = (y_pred[:, :, 1:, :] - y_pred[:, :, :-1, :]) ** 2
    dx = (y_pred[:, :, :, 1:] - y_pred[:, :, :, :-1]) ** 2
    return (dx.mean() + dy.mean()) / 2.0


def vox_morph_loss(registered_image, deformation_matrix, ytrue, lamda):
    mse = F.mse_loss(registered_image, ytrue)
    sm = smooothing_loss(registered_image)
    return mse + lamda * sm


def folded(flow):
    dx = flow[:, :, :-1, 1:] - flow[:, :, :-1, :-1]
    dy = flow[:, :, 1:, :-1] - flow[:, :, :-1, :-1]
    det = (1 + dx[:, 0]) * (1 + dy[:, 1]) - dx[:, 1] * dy[:, 0]
    return (det <= 0).float().mean().item()


def make(n, g):
    warp = SpatialTransformation()
    base = F.interpolate(torch.rand(n, 1, 7, 7, generator=g), size=32, mode="bicubic", align_corners=False)
    flow = F.interpolate(3.0 * torch.randn(n, 2, 3, 3, generator=g), size=32, mode="bicubic", align_corners=True)
    noise = lambda: 0.1 * torch.randn(n, 1, 32, 32, generator=g)
    return base + noise(), warp(base, flow) + noise()


torch.manual_seed(0)
g = torch.Generator().manual_seed(0)
moving, fixed = make(160, g)
val_moving, val_fixed = make(30, g)
model = VoxelMorph2d()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(12):
    total = 0.0
    for i in torch.randperm(len(moving)).split(16):
        registered, deformation = model(moving[i], fixed[i])
        loss = vox_morph_loss(registered, deformation, fixed[i], 0.2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 2:
        with torch.no_grad():
            registered, deformation = model(val_moving, val_fixed)
        print(f"epoch {epoch} loss {total / 10:.4f} validation mse {F.mse_loss(registered, val_fixed):.4f} "
              f"roughness of the field {smooothing_loss(deformation):.4f} folded pixels {100 * folded(deformation):.2f}%")
