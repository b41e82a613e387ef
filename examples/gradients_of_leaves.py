"""Which inputs get a gradient from `backward()`, and which don't.

Ask: gradscope why z
"""

import torch

x = torch.ones(2, requires_grad=True)
y = torch.ones(2, requires_grad=True)
z = torch.ones(2)
(x + y + z).sum().backward()
print("x.grad", x.grad.tolist())
print("y.grad", y.grad.tolist())
print("z.grad", z.grad, "since z does not require grad")
