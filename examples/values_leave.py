"""`item()` and `tolist()` take numbers out of the graph, which is what logging needs."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total = 0.0
for _ in range(3):
    optimizer.zero_grad()
    x = torch.randn(4, 3)
    loss = model(x).pow(2).mean()
    loss.backward()
    optimizer.step()
    total += loss.item()
print("mean loss", round(total / 3, 4))
print("first row of the last batch", [round(v, 3) for v in x[0].tolist()])
