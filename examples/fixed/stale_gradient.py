"""With `zero_grad()` the second gradient is the first again."""

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
optimizer.step()
print("the step subtracts the gradient:", torch.equal(model[0].weight, start["0.weight"] - first))

optimizer.zero_grad()
model.load_state_dict(start)  # the same weights and data: the same gradient
criterion(model(images), labels).backward()
print("after zero_grad() it is the same again:", torch.equal(model[0].weight.grad, first))
optimizer.step()
