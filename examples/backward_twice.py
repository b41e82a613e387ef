"""A second `backward()` through the same graph: what it saved is gone."""

import torch

x = torch.ones(3, requires_grad=True)
loss = (x * x).sum()
loss.backward()  # cause: GS306
print("first pass:", x.grad.tolist())
loss.backward()  # effect: GS306
