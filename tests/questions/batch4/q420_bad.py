import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
rng = np.random.default_rng(0)

NUM_CLASSES = 5


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 16, 3, stride=2, padding=1)
        self.fc = nn.Linear(16 * 25, NUM_CLASSES)

    def forward(self, x):
        x = F.relu(self.conv2(F.relu(self.conv1(x))))
        return self.fc(x.flatten(1))


def mixup_batch(inputs, targets, alpha):
    lam = rng.beta(alpha, alpha)
    one_hot = F.one_hot(targets, NUM_CLASSES).float()
    mixed_targets = one_hot * lam + one_hot.flip(0) * (1 - lam)
    inputs.mul_(lam).add_(inputs.flip(0), alpha=1 - lam)
    return inputs, mixed_targets


def soft_target_loss(output, target):
    return -(target * F.log_softmax(output, 1)).sum(1).mean()


templates = torch.rand(NUM_CLASSES, 3, 10, 10)


def load(n):
    y = torch.randint(0, NUM_CLASSES, (n,))
    return (templates[y] + 0.5 * torch.randn(n, 3, 10, 10)), y


train_x, train_y = load(512)
test_x, test_y = load(256)
model = ConvNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
for epoch in range(8):
    total, brightness = 0.0, 0.0
    for idx in torch.randperm(512).split(32):
        images, targets = mixup_batch(train_x[idx], train_y[idx], alpha=1.0)
        loss = soft_target_loss(model(images), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        brightness += images.mean().item()
    with torch.no_grad():
        accuracy = (model(test_x).argmax(1) == test_y).float().mean()
    print(
        f"epoch {epoch}: loss {total / 16:.4f}, brightness {brightness / 16:.3f}, test accuracy {accuracy:.3f}"
    )
