"""The same write through `.data`: torch says nothing, and the gradient is wrong."""

import torch

a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
b = a + 2
loss = torch.mean(b * b)
b.data.zero_()  # cause: GS101
loss.backward()  # effect: GS101
print("a.grad is", a.grad.tolist(), "and should be [6.0, 1.3333, 1.3333]")
