from collections.abc import Iterable

import torch
from torch import nn

torch.manual_seed(3)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Sequential(nn.Linear(20, 32), nn.ReLU())
        self.fc2 = nn.Sequential(nn.Linear(32, 32), nn.ReLU())
        self.fc3 = nn.Linear(32, 4)

    def forward(self, x):
        return self.fc3(self.fc2(self.fc1(x)))


def set_freeze_by_names(model, layer_names, freeze=True):
    if isinstance(layer_names, str) or not isinstance(layer_names, Iterable):
        layer_names = [layer_names]
    for name, child in model.named_children():
        if name not in layer_names:
            continue
        print(f"set freeze for layer {name} as: {freeze}")
        for param in child.parameters():
            param.requires_grad = not freeze
            param.grad = None


teacher = torch.randn(20, 4)
data = torch.randn(1024, 20)
labels = (data @ teacher).argmax(1)


def training(model, optimizer, epochs):
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        total = 0.0
        for batch in torch.randperm(len(data)).split(64):
            optimizer.zero_grad(set_to_none=False)
            loss = criterion(model(data[batch]), labels[batch])
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
        print(f"  epoch {epoch}: loss {total / len(data):.4f}")


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
training(model, optimizer, 4)

set_freeze_by_names(model, "fc1", freeze=True)
print("before", model.fc1[0].weight[0, :5])
training(model, optimizer, 6)
print("after ", model.fc1[0].weight[0, :5])
set_freeze_by_names(model, "fc1", freeze=False)
