"""Weights are loaded and used for inference, but the model is still in train mode."""

import torch
from torch import nn


def make_model() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 2))


torch.manual_seed(0)
saved = make_model().state_dict()
model = make_model()
model.load_state_dict(saved)  # cause: GS406
x = torch.randn(8, 4)
with torch.no_grad():
    first = model(x)  # effect: GS406
    again = model(x)
print("the same input gives the same output:", torch.equal(first, again))
