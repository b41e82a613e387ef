"""Parameters make a model's output require grad, though its input does not."""

import torch
from torch import nn

model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 2, 3))
image = torch.randn(1, 1, 8, 8)
out = model(image)
print("input:", image.requires_grad)
print("parameters:", all(p.requires_grad for p in model.parameters()))
print("output:", out.requires_grad)
