"""`eval()` does not stop autograd: evaluation keeps graphs that nobody needs."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Dropout(0.1), nn.Linear(256, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
test, labels = torch.randn(128, 64), torch.randint(10, (128,))

for _ in range(2):
    model.train()
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(16, 64)), torch.randint(10, (16,))).backward()
        optimizer.step()
    model.eval()
    scores = model(test)  # cause: GS402
    right = (scores.argmax(dim=1) == labels).sum().item()
    print("right:", right, "of 128, with a graph:", scores.grad_fn is not None)
