"""Which parameters are trained, which got gradients, and how large they are."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
model[0].bias.requires_grad_(False)
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.randn(16, 4)).pow(2).mean().backward()
    optimizer.step()

print(f"{'parameter':10} {'trained':8} {'norm of gradient'}")
for name, parameter in model.named_parameters():
    norm = "none" if parameter.grad is None else f"{parameter.grad.norm():.4f}"
    print(f"{name:10} {parameter.requires_grad!s:8} {norm}")
