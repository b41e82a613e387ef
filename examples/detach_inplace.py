"""`detach_()` cuts the tensor itself out of its graph."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.ModuleDict({"layer1": nn.Linear(4, 8), "layer2": nn.Linear(8, 1)})
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    y = model["layer1"](torch.randn(8, 4))
    y.detach_()  # cause: GS301
    loss = model["layer2"](y).pow(2).mean()
    loss.backward()  # effect: GS301
    optimizer.step()
print("layer1.weight.grad", model["layer1"].weight.grad)
print("y is a leaf now:", y.is_leaf)
