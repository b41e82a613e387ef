"""What `backward()` starts from is made with gradients on."""

import torch

x = torch.ones(2, requires_grad=True)
w = (x * 3).sum()
print("w has a graph:", w.grad_fn is not None)
w.backward()
