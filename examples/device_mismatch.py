"""The model is on one device, the data on another."""

import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "meta"
model = nn.Linear(4, 2).to(device)
data = torch.randn(3, 4)  # cause: GS501
print("model on", model.weight.device.type, "and data on", data.device)
print(model(data))  # effect: GS501
