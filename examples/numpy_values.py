"""`numpy()` refuses a tensor that requires grad; `detach()` first says what is meant."""

import torch

x = torch.ones(3, requires_grad=True)
y = x * 2
try:
    y.numpy()
except RuntimeError as error:
    print("torch says:", error)
print("cut out of its graph first:", y.cpu().detach().numpy())
