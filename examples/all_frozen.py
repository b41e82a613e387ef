"""Every parameter is frozen, so nothing is left for `backward()`."""

import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
for parameter in model.parameters():
    parameter.requires_grad = False  # cause: GS303
loss = model(torch.randn(2, 4)).sum()
print("output:", loss.requires_grad)
loss.backward()  # effect: GS303
