import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, num_layers, width=16):
        super().__init__()
        self.layer = nn.Linear(2, width)
        self.list_of_layers = nn.ModuleList(nn.Linear(width, width) for _ in range(num_layers))
        self.last = nn.Linear(width, 1)

    def forward(self, x):
        x = torch.relu(self.layer(x))
        for layer in self.list_of_layers:
            x = torch.relu(layer(x))
        return self.last(x)


def make_rings(n):
    radius = 3 * torch.rand(n)
    angle = 6.2832 * torch.rand(n)
    x = torch.stack([radius * torch.cos(angle), radius * torch.sin(angle)], 1)
    y = (torch.sin(3 * radius + angle) > 0).float().unsqueeze(1)
    return x, y


net = Net(4)
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
print("parameters", sum(p.numel() for p in net.parameters()))
for step in range(1, 1501):
    x, y = make_rings(128)
    loss = criterion(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 300 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
