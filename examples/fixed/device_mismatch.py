"""The data is made on the model's device."""

import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "meta"
model = nn.Linear(4, 2).to(device)
data = torch.randn(3, 4, device=device)
print("model on", model.weight.device.type, "and data on", data.device)
print(tuple(model(data).shape))
