import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class ScaleNet(nn.Module):
    def __init__(self, features=8, hidden=32):
        super().__init__()
        self.layer1 = nn.Linear(features, hidden)
        self.layer2 = nn.Linear(hidden, hidden)
        self.scale = nn.Linear(hidden, 1)

    def forward(self, x):
        x = F.relu(self.layer1(x))
        x = F.relu(self.layer2(x))
        return F.relu(self.scale(x)).squeeze(-1)


def census(regions=200, cells=12, features=8):
    inputs = 1 + torch.rand(regions, cells, features)
    occupancy = 0.5 + inputs[..., 0] * inputs[..., 1]
    buildings = torch.randint(0, 6, (regions, cells)).float()
    population = (occupancy * buildings).sum(1)
    return inputs, buildings, population


inputs, buildings, population = census()
net = ScaleNet()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(1, 21):
    total = 0.0
    for index in torch.randperm(200).split(20):
        estimate = (net(inputs[index]) * buildings[index]).sum(1)
        loss = F.l1_loss(estimate, population[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 4 == 0:
        print(f"epoch {epoch}: loss {total / 10:.4f}")
