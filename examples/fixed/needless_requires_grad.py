"""Inputs and labels are data: nothing asks for their gradient."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(64, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    inputs = torch.randn(32, 64)
    labels = torch.randn(32, 8)
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(inputs), labels)
    loss.backward()
    optimizer.step()
print("loss", round(loss.item(), 3))
