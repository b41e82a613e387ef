"""`detach()` copies nothing: a write to the one shows in the other."""

import torch

a = torch.ones(3, requires_grad=True)
b = a * 2
b_ = b.detach()
b_[0] = 100
print("b_", b_.tolist())
print("b ", b.tolist())
print("the same memory:", b.data_ptr() == b_.data_ptr())
