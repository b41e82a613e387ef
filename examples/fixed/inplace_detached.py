"""The write goes to a copy, and backward finds what it saved."""

import torch

a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
b = a + 2
loss = torch.mean(b * b)
print("version of b before the write:", b._version)
b.detach().clone().zero_()
print("and after it:", b._version)
loss.backward()
