import torch
import torch.nn as nn
import torch.nn.functional as F


class ColorLoss(nn.Module):
    def forward(self, image):
        r, g, b = image.mean(dim=(2, 3)).split(1, dim=1)
        drg = (r - g) ** 2
        drb = (r - b) ** 2
        dgb = (b - g) ** 2
        return torch.pow(drg**2 + drb**2 + dgb**2 + 1e-8, 0.5).mean()


class ExposureLoss(nn.Module):
    def __init__(self, patch, level):
        super().__init__()
        self.pool = nn.AvgPool2d(patch)
        self.level = level

    def forward(self, image):
        return (self.pool(image.mean(1, keepdim=True)) - self.level).pow(2).mean()


class Enhancer(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, 1, 3, padding=1)

    def forward(self, image):
        curve = torch.tanh(self.conv2(F.relu(self.conv1(image))))
        for _ in range(3):
            image = image + curve * (image - image.pow(2))
        return image


def low_light(n, step):
    image = 0.3 * torch.rand(n, 3, 16, 16)
    if step % 20 == 13:
        image[0] = image[0, :1].expand(3, 16, 16)
    return image


torch.manual_seed(0)
net = Enhancer()
color, exposure = ColorLoss(), ExposureLoss(4, 0.6)
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(60):
    enhanced = net(low_light(4, step))
    loss = 5 * color(enhanced) + 10 * exposure(enhanced)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 0.1)
    optimizer.step()
    if step % 6 == 0:
        print(f"step {step} loss {loss.item():.4f}")
