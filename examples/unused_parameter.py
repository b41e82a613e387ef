"""A layer that trains in name only: no loss ever reaches it."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.used = nn.Linear(4, 1)
        self.forgotten = nn.Linear(4, 4)  # cause: GS302

    def forward(self, x):
        return self.used(x)


torch.manual_seed(0)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    loss = model(torch.randn(8, 4)).pow(2).mean()
    loss.backward()  # effect: GS302
    optimizer.step()
for name, parameter in model.named_parameters():
    print(name, "no gradient" if parameter.grad is None else "trained")
