"""Inputs that require grad: their gradient is computed in every step and never read."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(64, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    inputs = torch.randn(32, 64, requires_grad=True)  # cause: GS601
    labels = torch.randn(32, 8, requires_grad=True)  # cause: GS601
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(inputs), labels)
    loss.backward()  # effect: GS601
    optimizer.step()
print("loss", round(loss.item(), 3))
