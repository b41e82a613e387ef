import torch
import torch.nn as nn


class RES_MLP(nn.Module):
    def __init__(self, in_dim, out_dim, hidden):
        super().__init__()
        self.fc1 = nn.Linear(in_dim, hidden)
        self.fc2 = nn.Linear(hidden, out_dim)
        self.skip = nn.Linear(in_dim, out_dim)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x))) + self.skip(x)


class COOD_MLP(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.fc = nn.Linear(in_dim, out_dim)

    def forward(self, coord):
        return torch.sin(self.fc(coord))


class RESMLPS(nn.Module):
    def __init__(self, in_dim, out_dim, hidden, count=4):
        super().__init__()
        self.mlps = nn.ModuleList([RES_MLP(in_dim + 16, out_dim, hidden) for _ in range(count)])
        self.coord_mlp = COOD_MLP(2, 16)
        self.expand = nn.Linear(count * out_dim, out_dim)

    def forward(self, feature, coord):
        x = torch.cat([feature, self.coord_mlp(coord)], dim=-1)
        outs = [mlp(x) for mlp in self.mlps]
        return self.expand(torch.cat(outs, dim=-1))


def sample(n=128):
    coord = torch.rand(n, 2) * 2 - 1
    feature = torch.randn(n, 8)
    target = torch.sin(3 * coord[:, :1]) * feature[:, :1] + coord[:, 1:] * feature[:, 1:2]
    return feature, coord, target


torch.manual_seed(0)
model = RESMLPS(8, 1, 32)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
loss_fn = nn.L1Loss()
print("parameters:", sum(p.numel() for p in model.parameters()))
for epoch in range(8):
    total = 0.0
    for _ in range(40):
        feature, coord, target = sample()
        loss = loss_fn(model(feature, coord), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} l1 {total / 40:.4f}")
