"""What `optimizer.zero_grad()` and `model.zero_grad()` cover: each its own parameters (SCENARIOS 12)."""

import torch
from torch import nn

torch.manual_seed(0)
encoder, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
both = [*encoder.parameters(), *decoder.parameters()]
optimizer = torch.optim.SGD(both, lr=0.01)


def train(zero_grad) -> None:
    """Three steps that clear gradients with `zero_grad`."""
    for _ in range(3):
        zero_grad()  # cause: GS203
        data = torch.randn(8, 4)
        loss = nn.functional.mse_loss(decoder(encoder(data)), data)
        loss.backward()
        optimizer.step()  # effect: GS203


def left() -> str:
    return ", ".join(
        name
        for name, module in [("encoder", encoder), ("decoder", decoder)]
        if module.weight.grad is not None
    )


train(optimizer.zero_grad)
optimizer.zero_grad()
print("after optimizer.zero_grad(), gradients are left in:", left() or "nothing")

train(decoder.zero_grad)
decoder.zero_grad()
print("after decoder.zero_grad(), gradients are left in:", left())
