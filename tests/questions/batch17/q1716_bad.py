import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def vgg_features():
    layers = []
    for size in ((1, 12), (12, 12), None, (12, 20), (20, 20), None):
        if size is None:
            layers.append(nn.MaxPool2d(2, 2))
        else:
            layers += [nn.Conv2d(*size, 3, padding=1), nn.BatchNorm2d(size[1]), nn.ReLU()]
    return layers


class SegNet(nn.Module):
    def __init__(self, num_classes=3):
        super().__init__()
        encoder = vgg_features()
        self.stage1_encoder = nn.Sequential(*encoder[:6])
        self.stage2_encoder = nn.Sequential(*encoder[7:13])
        self.pool = nn.MaxPool2d(2, 2, return_indices=True)

        decoder = encoder
        decoder = [m for m in reversed(decoder) if not isinstance(m, nn.MaxPool2d)]
        decoder[-1] = nn.Conv2d(12, 12, 3, padding=1)
        decoder = [item for i in range(0, len(decoder), 3) for item in decoder[i : i + 3][::-1]]
        for i, module in enumerate(decoder):
            if isinstance(module, nn.Conv2d) and module.in_channels != module.out_channels:
                decoder[i + 1] = nn.BatchNorm2d(module.in_channels)
                decoder[i] = nn.Conv2d(module.out_channels, module.in_channels, 3, padding=1)
        self.stage1_decoder = nn.Sequential(*decoder[:6])
        self.stage2_decoder = nn.Sequential(*decoder[6:], nn.Conv2d(12, num_classes, 3, padding=1))
        self.unpool = nn.MaxUnpool2d(2, 2)

    def forward(self, x):
        x, indices1 = self.pool(self.stage1_encoder(x))
        x, indices2 = self.pool(self.stage2_encoder(x))
        x = self.stage1_decoder(self.unpool(x, indices2))
        return self.stage2_decoder(self.unpool(x, indices1))


def load_batch(n=16, size=16):
    grid = torch.arange(size).float()
    label = torch.zeros(n, size, size, dtype=torch.long)
    for part in (1, 2):
        center, radius = torch.rand(n, 2, 1, 1) * 8 + 4, torch.rand(n, 1, 1) * 2 + 2
        dy, dx = grid.view(1, -1, 1) - center[:, 0], grid.view(1, 1, -1) - center[:, 1]
        inside = (dy**2 + dx**2 < radius**2) if part == 1 else (dy.abs() + dx.abs() < radius + 1)
        label[inside] = part
    image = torch.tensor([0.0, 1.0, 2.5])[label].unsqueeze(1)
    return image + 0.5 * torch.randn(n, 1, size, size), label


def pixel_accuracy(model, batch):
    with torch.no_grad():
        return (model(batch[0]).argmax(1) == batch[1]).float().mean().item()


model = SegNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(150):
    image, label = load_batch()
    loss = F.cross_entropy(model(image), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if (step + 1) % 50 == 0:
        print(f"step {step + 1}: loss {loss.item():.3f}")

torch.manual_seed(1)
val = load_batch(64)
print(f"pixel accuracy, batch statistics {pixel_accuracy(model, val):.3f}")
model.eval()
print(f"pixel accuracy, eval mode {pixel_accuracy(model, val):.3f}")
print(f"parameters: {sum(p.numel() for p in model.parameters())}")
