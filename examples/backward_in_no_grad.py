"""`backward()` on what a `no_grad` block made: there is no graph to go back through."""

import torch

x = torch.ones(2, requires_grad=True)
with torch.no_grad():  # cause: GS303
    w = (x * 3).sum()
print("w has no graph:", w.grad_fn)
w.backward()  # effect: GS303
