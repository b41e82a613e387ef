"""The last layer stays trainable, so `backward()` has something to fill."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
for parameter in model[0].parameters():
    parameter.requires_grad = False
loss = model(torch.randn(2, 4)).sum()
print("output:", loss.requires_grad)
loss.backward()
