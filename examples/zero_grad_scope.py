"""What `optimizer.zero_grad()` and `model.zero_grad()` cover: each its own parameters (SCENARIOS 12)."""

import torch
from torch import nn

torch.manual_seed(0)
encoder, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
optimizer = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.01)


def loss_of_a_batch() -> torch.Tensor:
    data = torch.randn(8, 4)
    return nn.functional.mse_loss(decoder(encoder(data)), data)


def left() -> str:
    layers = {"encoder": encoder, "decoder": decoder}
    return " and ".join(name for name, layer in layers.items() if layer.weight.grad is not None)


for _ in range(3):
    optimizer.zero_grad()
    loss_of_a_batch().backward()
    optimizer.step()
optimizer.zero_grad()
print("after optimizer.zero_grad(), gradients are left in:", left() or "nothing")

for _ in range(3):
    decoder.zero_grad()  # cause: GS203
    loss_of_a_batch().backward()
    optimizer.step()  # effect: GS203
decoder.zero_grad()
print("after decoder.zero_grad(), gradients are left in:", left())
