"""`model.zero_grad()` covers that model alone: what else is stepped goes stale."""

import torch
from torch import nn

torch.manual_seed(0)
encoder, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
optimizer = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.01)

for _ in range(3):
    decoder.zero_grad()  # cause: GS203
    data = torch.randn(8, 4)
    loss = nn.functional.mse_loss(decoder(encoder(data)), data)
    loss.backward()
    optimizer.step()  # effect: GS203

decoder.zero_grad()
print("gradient left in the encoder:", encoder.weight.grad is not None)
print("gradient left in the decoder:", decoder.weight.grad is not None)
