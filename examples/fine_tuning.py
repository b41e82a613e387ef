"""A frozen trunk with a new last layer: only `fc` learns, and that is right."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        return self.fc(self.trunk(x))


torch.manual_seed(0)
model = Net()
for parameter in model.parameters():
    parameter.requires_grad = False
model.fc = nn.Linear(16, 2)  # made after freezing, so it trains
optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.1)

for _ in range(3):
    images, labels = torch.randn(8, 1, 8, 8), torch.randint(2, (8,))
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()

for name, parameter in model.named_parameters():
    print(name, "got a gradient" if parameter.grad is not None else "frozen")
