import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(17)


def instance_std(x, eps=1e-5):
    var = torch.var(x, dim=(2, 3), keepdim=True)
    return torch.sqrt(var + eps)


class EvoNormB0(nn.Module):
    def __init__(self, channels, momentum=0.9, eps=1e-5):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(1, channels, 1, 1))
        self.beta = nn.Parameter(torch.zeros(1, channels, 1, 1))
        self.v = nn.Parameter(torch.ones(1, channels, 1, 1))
        self.register_buffer("running_var", torch.ones(1, channels, 1, 1))
        self.momentum, self.eps = momentum, eps

    def forward(self, x):
        if self.training:
            var = torch.var(x, dim=(0, 2, 3), unbiased=False, keepdim=True)
            with torch.no_grad():
                self.running_var.mul_(self.momentum).add_((1 - self.momentum) * var)
        else:
            var = self.running_var
        den = torch.max((var + self.eps).sqrt(), self.v * x + instance_std(x, self.eps))
        return x / den * self.gamma + self.beta


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.norm1 = EvoNormB0(8)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.norm2 = EvoNormB0(16)
        self.squeeze = nn.Conv2d(16, 24, 1)
        self.norm3 = EvoNormB0(24)
        self.fc = nn.Linear(24, 3)

    def forward(self, x):
        x = F.max_pool2d(self.norm1(self.conv1(x)), 2)
        x = F.max_pool2d(self.norm2(self.conv2(x)), 2)
        x = self.norm3(self.squeeze(F.adaptive_avg_pool2d(x, 1)))
        return self.fc(x.flatten(1))


patterns = torch.randn(3, 1, 8, 8)
label = torch.randint(0, 3, (600,))
images = patterns[label] + 0.7 * torch.randn(600, 1, 8, 8)
loader = DataLoader(TensorDataset(images[:500], label[:500]), batch_size=50, shuffle=True)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(1, 6):
    model.train()
    running = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item()
    model.eval()
    with torch.no_grad():
        acc = (model(images[500:]).argmax(1) == label[500:]).float().mean().item()
    print(f"epoch {epoch} loss {running / len(loader):.4f} test accuracy {acc:.3f}")
