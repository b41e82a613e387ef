"""`retain_grad()` asks for the gradient of what is no leaf."""

import torch

x = torch.ones(3, requires_grad=True)
w = torch.full((3,), 2.0, requires_grad=True)
y = torch.sigmoid(x)
y.retain_grad()
loss = (y * w).sum()
loss.backward()
print("x: leaf", x.is_leaf, "grad", x.grad is not None)
print("w: leaf", w.is_leaf, "grad", w.grad is not None)
print("y: leaf", y.is_leaf, "grad", y.grad is not None)
