import torch
import torch.nn as nn
import torch.nn.functional as F


class ResidualUnit(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.conv1 = nn.Conv2d(features, features, 3, padding=1)
        self.conv2 = nn.Conv2d(features, features, 3, padding=1)

    def forward(self, x):
        out = self.conv1(F.relu(x))
        out = self.conv2(F.relu(out))
        return out + x


class Fusion(nn.Module):
    def __init__(self, features, n_inputs):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv2d(features, features, 3, padding=1) for _ in range(n_inputs)])

    def forward(self, *xs):
        size = xs[0].shape[-2:]
        out = 0
        for conv, x in zip(self.convs, xs):
            out = out + F.interpolate(conv(x), size=size, mode="bilinear", align_corners=False)
        return out


class RefineBlock(nn.Module):
    def __init__(self, features, n_inputs):
        super().__init__()
        self.rcus = nn.ModuleList([ResidualUnit(features) for _ in range(n_inputs)])
        self.mrf = Fusion(features, n_inputs)

    def forward(self, *xs):
        refined = []
        for i, x in enumerate(xs):
            refined.append(self.rcus[i](x))
        return self.mrf(*refined)


class RefineNet(nn.Module):
    def __init__(self, classes=3, features=12):
        super().__init__()
        self.stem = nn.Conv2d(1, features, 3, padding=1)
        self.down = nn.Conv2d(features, features, 3, stride=2, padding=1)
        self.refine = RefineBlock(features, 2)
        self.classify = nn.Conv2d(features, classes, 1)

    def forward(self, image):
        high = F.relu(self.stem(image))
        low = F.relu(self.down(high))
        return self.classify(self.refine(high, low))


torch.manual_seed(0)
model = RefineNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(60):
    image = torch.randn(8, 1, 16, 16)
    smooth = F.avg_pool2d(image, 3, stride=1, padding=1).squeeze(1)
    label = (smooth > 0.2).long() + (smooth > -0.2).long()
    loss = F.cross_entropy(model(image), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"step {step} loss {loss.item():.4f}")
