import torch
from torch import nn

torch.manual_seed(0)

PROTOS = torch.randn(6, 20)


def domain(n, classes, shift, scale):
    y = torch.randint(0, len(classes), (n,))
    x = PROTOS[torch.tensor(classes)[y]] + 0.6 * torch.randn(n, 20)
    return x * scale + shift, y


def deactivate_requires_grad(module):
    module.eval()
    for param in module.parameters():
        param.requires_grad = False


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(20, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 32), nn.BatchNorm1d(32), nn.ReLU()
        )

    def forward(self, x):
        return self.layers(x)


class Classifier(nn.Module):
    def __init__(self, backbone, classes):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(32, classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def fit(model, data, steps):
    opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=3e-3)
    model.train()
    for part in model.modules():
        if isinstance(part, nn.BatchNorm1d) and not part.weight.requires_grad:
            part.eval()
    for _ in range(steps):
        x, y = data(64)
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


@torch.no_grad()
def accuracy(model, data):
    model.eval()
    x, y = data(1000)
    return (model(x).argmax(1) == y).float().mean().item()


def source(n):
    return domain(n, [0, 1, 2], 0.0, 1.0)


def target(n):
    return domain(n, [3, 4, 5], 4.0, 2.5)


backbone = Backbone()
first = Classifier(backbone, 3)
fit(first, source, 300)
print(f"source task before {accuracy(first, source):.3f}")

deactivate_requires_grad(backbone)
second = Classifier(backbone, 3)
loss = fit(second, target, 300)
print(f"target task {accuracy(second, target):.3f} (loss {loss:.3f})")
print(f"source task after  {accuracy(first, source):.3f}")
