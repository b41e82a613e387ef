import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
MAX_DEPTH = 10.0


def make_rooms(n, size=32):
    rows = torch.linspace(0, 1, size).view(1, 1, size, 1)
    near = 0.6 + 0.8 * torch.rand(n, 1, 1, 1)
    far = 4.0 + 5.0 * torch.rand(n, 1, 1, 1)
    depth = (far + (near - far) * rows).expand(n, 1, size, size).clone()
    for k in range(n):
        y, x = torch.randint(2, size - 12, (2,)).tolist()
        h, w = torch.randint(6, 11, (2,)).tolist()
        depth[k, 0, y:y + h, x:x + w] *= 0.35
    shade = torch.exp(-depth / 4.0)
    image = torch.cat([shade, shade * 0.7, 1 - shade], 1) + 0.05 * torch.randn(n, 3, size, size)
    lidar = depth * (torch.rand(n, 1, size, size) > 0.4).float()
    return image, lidar


class SilogLoss(nn.Module):
    def __init__(self, variance_focus=0.85):
        super().__init__()
        self.variance_focus = variance_focus

    def forward(self, depth_est, depth_gt, mask):
        d = torch.log(depth_est[mask]) - torch.log(depth_gt[mask])
        return torch.sqrt((d ** 2).mean() - self.variance_focus * d.mean() ** 2) * 10.0


class DepthNet(nn.Module):
    def __init__(self, w=16):
        super().__init__()
        self.enc1 = nn.Conv2d(3, w, 3, padding=1)
        self.enc2 = nn.Conv2d(w, 2 * w, 3, stride=2, padding=1)
        self.enc3 = nn.Conv2d(2 * w, 2 * w, 3, stride=2, padding=1)
        self.up2 = nn.Conv2d(4 * w, w, 3, padding=1)
        self.up1 = nn.Conv2d(2 * w, w, 3, padding=1)
        self.get_depth = nn.Conv2d(w, 1, 3, padding=1)
        nn.init.constant_(self.get_depth.bias, 0.3)

    def forward(self, x):
        a = F.elu(self.enc1(x))
        b = F.elu(self.enc2(a))
        c = F.elu(self.enc3(b))
        b = F.elu(self.up2(torch.cat([b, F.interpolate(c, scale_factor=2)], 1)))
        a = F.elu(self.up1(torch.cat([a, F.interpolate(b, scale_factor=2)], 1)))
        return MAX_DEPTH * F.relu(self.get_depth(a))


@torch.no_grad()
def abs_rel(model, image, depth):
    est = model(image)
    valid = depth > 0.1
    return ((est[valid] - depth[valid]).abs() / depth[valid]).mean().item()


image, depth = make_rooms(200)
test_image, test_depth = make_rooms(40)
loader = DataLoader(TensorDataset(image, depth), batch_size=10, shuffle=True)

model = DepthNet()
silog = SilogLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)

for epoch in range(8):
    running = 0.0
    for img, gt in loader:
        optimizer.zero_grad()
        est = model(img)
        loss = silog(est, gt, gt > 0.1)
        loss.backward()
        optimizer.step()
        running += loss.item()
    print(f"epoch {epoch + 1}  silog {running / len(loader):.4f}  abs_rel {abs_rel(model, test_image, test_depth):.4f}")
