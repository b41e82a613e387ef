import torch
import torch.nn as nn
import torch.nn.functional as F


def backward_warp(feature, flow):
    n, _, h, w = feature.shape
    ys, xs = torch.meshgrid(torch.linspace(-1, 1, h), torch.linspace(-1, 1, w), indexing="ij")
    grid = torch.stack([xs, ys], dim=-1).expand(n, h, w, 2)
    return F.grid_sample(feature, grid + flow.permute(0, 2, 3, 1), align_corners=True, padding_mode="border")


class Extractor(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x):
        return F.leaky_relu(self.conv2(F.leaky_relu(self.conv1(x), 0.1)), 0.1)


class Matching(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.coarse = nn.Conv2d(2 * width, 2, 7, padding=3)
        self.fine = nn.Conv2d(2 * width + 2, 2, 1)

    def forward(self, first, second):
        flow = self.coarse(torch.cat([first, second], 1))
        warped = backward_warp(second, flow)
        return flow + self.fine(torch.cat([first, warped, flow], 1))


class FlowNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.features = Extractor(width)
        self.matching = Matching(width)

    def forward(self, a, b):
        return self.matching(self.features(a), self.features(b))


def image_pairs(n):
    a, b = torch.randn(2, n, 1, 16, 16)
    wind = F.avg_pool2d(torch.cat([a - b, a + b], 1), 9, stride=1, padding=4)
    return a, b, wind


torch.manual_seed(0)
net = FlowNet()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(80):
    a, b, target = image_pairs(8)
    flow = net(a, b)
    loss = (flow - target).pow(2).sum(1).add(1e-8).sqrt().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step} endpoint error {loss.item():.4f}")
