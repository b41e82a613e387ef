import copy

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(9)


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 16, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(16)
        self.fc = nn.Linear(16, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.relu(self.bn2(self.conv2(x)))
        return self.fc(x.mean((2, 3)))


class ModuleValidator:
    @staticmethod
    def fix(module):
        module = copy.deepcopy(module)
        for name, child in list(module.named_modules()):
            if isinstance(child, nn.BatchNorm2d):
                parent = module.get_submodule(name.rpartition(".")[0])
                setattr(parent, name.rpartition(".")[2], nn.GroupNorm(4, child.num_features))
        return module


patterns = torch.randn(4, 1, 8, 8)
labels = torch.randint(0, 4, (640,))
images = patterns[labels] + 0.5 * torch.randn(640, 1, 8, 8)

model = ConvNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
model = ModuleValidator.fix(model)

for epoch in range(8):
    losses = []
    for batch in torch.randperm(640).split(64):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images[batch]), labels[batch])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch}: loss {sum(losses) / len(losses):.4f}")
