"""`backward()` on a detached tensor: the graph belongs to the original."""

import torch

x = torch.ones(3, requires_grad=True)
z = (x * 2).sum()
print("z has a graph:", z.requires_grad, "and its detached twin has none:", z.detach().requires_grad)
z.detach().backward()  # cause: GS303  # effect: GS303
