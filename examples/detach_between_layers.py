"""A `detach()` between two layers: the first one never learns.

Ask: gradscope why layer1.weight
"""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer1 = nn.Linear(4, 8)
        self.layer2 = nn.Linear(8, 1)

    def forward(self, x):
        y = torch.tanh(self.layer1(x))
        return self.layer2(y.detach())  # cause: GS301


torch.manual_seed(0)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = model(torch.randn(8, 4)).pow(2).mean()
    loss.backward()  # effect: GS301
    optimizer.step()
print("layer1.weight.grad", model.layer1.weight.grad)
print("layer2.weight.grad", tuple(model.layer2.weight.grad.shape))
