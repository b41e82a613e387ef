import torch
import torch.nn as nn
import torch.nn.functional as F


class ResMLP(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.fc1 = nn.Linear(dim, hidden)
        self.fc2 = nn.Linear(hidden, dim)

    def forward(self, x):
        return x + self.fc2(F.relu(self.fc1(x)))


class ResMLPs(nn.Module):
    def __init__(self, dim, hidden, depth=4):
        super().__init__()
        self.mlps = [ResMLP(dim, hidden) for _ in range(depth)]
        self.coord_mlp = nn.Linear(2, dim)
        self.head = nn.Linear(dim, 1)

    def forward(self, coord):
        x = self.coord_mlp(coord)
        for mlp in self.mlps:
            x = mlp(x)
        return self.head(x)


def surface(coord):
    return torch.sin(4 * coord[:, :1]) * torch.cos(3 * coord[:, 1:])


torch.manual_seed(0)
model = ResMLPs(dim=16, hidden=32)
print("parameters:", sum(p.numel() for p in model.parameters()))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(300):
    coord = 2 * torch.rand(256, 2) - 1
    loss = F.mse_loss(model(coord), surface(coord))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 0:
        print(f"step {step} loss {loss.item():.5f}")
