"""The first pass keeps what the second one needs."""

import torch

x = torch.ones(3, requires_grad=True)
loss = (x * x).sum()
loss.backward(retain_graph=True)
print("first pass:", x.grad.tolist())
loss.backward()
