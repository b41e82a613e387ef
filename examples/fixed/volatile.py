"""`torch.no_grad()` is what `volatile=True` once was."""

import torch

weight = torch.ones(3, requires_grad=True)
x = torch.ones(3)
with torch.no_grad():
    y = weight * x
print("the result has a graph:", y.grad_fn is not None)
