import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
patterns = torch.randn(8, 3, 12, 12)


def load_batch(n=32):
    label = torch.randint(0, 8, (n,))
    return patterns[label] + 0.8 * torch.randn(n, 3, 12, 12), label


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU())
        self.layer2 = nn.Sequential(nn.Conv2d(16, 24, 3, 2, 1, bias=False), nn.BatchNorm2d(24), nn.ReLU())
        self.fc = nn.Linear(24 * 36, 8)

    def forward(self, x):
        return self.fc(self.layer2(self.layer1(x)).flatten(1))


def pretrained_backbone(steps=80):
    backbone = Backbone()
    optimizer = torch.optim.Adam(backbone.parameters(), lr=2e-3)
    for _ in range(steps):
        image, label = load_batch()
        loss = F.cross_entropy(backbone(image), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return backbone


class FeatureExtractor(nn.Module):
    def __init__(self, backbone, input_shape):
        super().__init__()
        self.backbone = backbone
        self.outputs = {}
        for name in ("layer1", "layer2"):
            getattr(backbone, name).register_forward_hook(
                lambda module, args, output, name=name: self.outputs.__setitem__(name, output)
            )
        self.eval()
        self.feature_dims = self.feature_dimensions(input_shape)

    def feature_dimensions(self, input_shape):
        with torch.no_grad():
            self.backbone(torch.ones(1, *input_shape))
        return [self.outputs[name].shape[1] for name in ("layer1", "layer2")]

    @torch.no_grad()
    def embed(self, image):
        self.backbone(image)
        low = F.avg_pool2d(self.outputs["layer1"], 2)
        return torch.cat([low, self.outputs["layer2"]], dim=1)


backbone = pretrained_backbone()
torch.manual_seed(1)
val_image, _ = load_batch(500)
reference = copy.deepcopy(backbone).eval()
extractor = FeatureExtractor(backbone, input_shape=(3, 12, 12))

pdn = nn.Sequential(
    nn.Conv2d(3, 32, 3, padding=1),
    nn.ReLU(),
    nn.AvgPool2d(2),
    nn.Conv2d(32, sum(extractor.feature_dims), 3, padding=1),
)
optimizer = torch.optim.Adam(pdn.parameters(), lr=2e-3)
for step in range(100):
    image, _ = load_batch()
    loss = ((extractor.embed(image) - pdn(image)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if (step + 1) % 50 == 0:
        print(f"step {step + 1}: distillation loss {loss.item():.4f}")

with torch.no_grad():
    before, after = reference(val_image), backbone(val_image)
    difference = (after - before).norm() / before.norm()
print(f"relative change of the outputs of the pretrained network: {difference.item():.4f}")
