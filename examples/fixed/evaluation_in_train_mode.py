"""`eval()` for the evaluation, `train()` for the next epoch."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
test = torch.randn(32, 4)


def train_one_epoch():
    model.train()
    for _ in range(3):
        optimizer.zero_grad()
        x, y = torch.randn(8, 4), torch.randint(2, (8,))
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def evaluate():
    model.eval()
    with torch.no_grad():
        return model(test).argmax(dim=1)


for _ in range(2):
    train_one_epoch()
    differ = (evaluate() != evaluate()).sum()
    print("two evaluations of one model differ in", differ.item(), "of 32")
