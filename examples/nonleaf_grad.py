"""`.grad` is filled for leaves only."""

import warnings

import torch

warnings.simplefilter("ignore")  # torch's own, about the read below

x = torch.ones(3, requires_grad=True)
w = torch.full((3,), 2.0, requires_grad=True)
y = torch.sigmoid(x)  # cause: GS307
loss = (y * w).sum()
loss.backward()
print("x: leaf", x.is_leaf, "grad", x.grad is not None)
print("w: leaf", w.is_leaf, "grad", w.grad is not None)
print("y: leaf", y.is_leaf, "grad", y.grad is not None)  # effect: GS307
