import os
import tempfile

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(19)

FEATURES = torch.randn(6, 24)


def draw(n, classes):
    kind = torch.randint(0, 6, (n,))
    x = FEATURES[kind] * torch.randn(n, 1).sign() + 0.5 * torch.randn(n, 24)
    return x, kind % classes


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.stage1 = nn.Linear(24, 48)
        self.stage2 = nn.Linear(48, 24)

    def forward(self, x):
        return torch.relu(self.stage2(torch.relu(self.stage1(x))))


class Pretrainer(nn.Module):
    def __init__(self):
        super().__init__()
        self.module = Backbone()
        self.classifier = nn.Linear(24, 6)

    def forward(self, x):
        return self.classifier(self.module(x))


class Finetuner(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.backbone = Backbone()
        state = torch.load(weights)
        state = {k[len("module."):]: v for k, v in state.items() if k.startswith("module.")}
        self.backbone.load_state_dict(state)
        self.backbone.requires_grad_(False)
        self.head = nn.Linear(24, 3)

    def forward(self, x):
        return self.head(self.backbone(x))


def fit(model, x, y, epochs, lr):
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(params, lr=lr)
    for epoch in range(epochs):
        for idx in torch.randperm(len(x)).split(40):
            loss = F.cross_entropy(model(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return loss.item()


path = os.path.join(tempfile.mkdtemp(), "pretrained.pth")
pretrainer = Pretrainer()
print(f"pretraining loss {fit(pretrainer, *draw(2000, 6), epochs=8, lr=3e-3):.4f}")
torch.save(pretrainer.state_dict(), path)

net = Finetuner(path)
small_x, small_y = draw(60, 3)
test_x, test_y = draw(600, 3)
print(f"finetuning loss {fit(net, small_x, small_y, epochs=60, lr=1e-2):.4f}")
with torch.no_grad():
    print(f"test accuracy {(net(test_x).argmax(1) == test_y).float().mean().item():.3f}")
