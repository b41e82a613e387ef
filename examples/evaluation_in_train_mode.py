"""Evaluation while dropout drops and batch norm still learns from the test data."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
test = torch.randn(32, 4)


def train_one_epoch():
    for _ in range(3):
        optimizer.zero_grad()
        x, y = torch.randn(8, 4), torch.randint(2, (8,))
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def evaluate():
    with torch.no_grad():  # effect: GS401
        return model(test).argmax(dim=1)  # cause: GS401


for _ in range(2):
    train_one_epoch()
    differ = (evaluate() != evaluate()).sum()
    print("two evaluations of one model differ in", differ.item(), "of 32")
