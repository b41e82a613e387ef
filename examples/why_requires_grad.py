"""A result requires grad because of one of its inputs.

Ask: gradscope why w
"""

import torch

x = torch.ones(2, 2, requires_grad=True)
y = torch.ones(2, 2)
z = torch.ones(2, 2)
w = x + y + z
print("w requires grad:", w.requires_grad, "because of x:", x.requires_grad)
print("y and z are leaves without:", y.is_leaf, y.requires_grad, z.is_leaf, z.requires_grad)

plain = y + z
print("no input requires grad, so neither does the sum:", plain.requires_grad)
