"""`backward()` on what a `no_grad` block made: there is no graph to go back through (SCENARIOS 4)."""

import torch

x = torch.ones(2, requires_grad=True)
with torch.no_grad():
    w = (x * 3).sum()  # cause: GS303
print("w has no graph:", w.grad_fn)
w.backward()  # effect: GS303
