"""The same two passes with `retain_graph=True`: their gradients add up."""

import torch

x = torch.ones(3, requires_grad=True)
loss = (x * x).sum()
loss.backward(retain_graph=True)
print("first pass:", x.grad.tolist())
loss.backward()
print("second pass, added to the first:", x.grad.tolist())
