"""A write through `detach()` to memory that backward needs: torch stops."""

import torch

a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
b = a + 2
loss = torch.mean(b * b)
print("version of b before the write:", b._version)
b.detach().zero_()  # cause: GS104
print("and after it:", b._version)
loss.backward()  # effect: GS104
