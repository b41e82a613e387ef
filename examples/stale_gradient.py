"""One step without `zero_grad()`: the second gradient is exactly twice the first."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3)
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=1)
images, labels = torch.randn(5, 1, 8, 8), torch.randint(3, (5,))
start = copy.deepcopy(model.state_dict())

criterion(model(images), labels).backward()
first = model[0].weight.grad.clone()
optimizer.step()  # cause: GS201
print("the step subtracts the gradient:", torch.equal(model[0].weight, start["0.weight"] - first))

model.load_state_dict(start)  # the same weights and data: the same gradient
criterion(model(images), labels).backward()  # effect: GS201
print("without zero_grad() it is twice as large:", torch.equal(model[0].weight.grad, 2 * first))
optimizer.step()
