import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)

x_all = torch.rand(4000, 1) * 6 - 3
y_all = x_all ** 2
loader = DataLoader(TensorDataset(x_all, y_all), batch_size=200, shuffle=True)


class NeuralNet(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.fc1 = nn.Linear(1, hidden)
        self.act = nn.Tanh()
        self.fc2 = nn.Linear(hidden, hidden)
        self.last = nn.Linear(hidden, 1)

    def forward(self, x):
        out = self.act(self.fc1(x))
        out = self.act(self.fc2(out))
        return self.last(out)


model = NeuralNet(64)
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=80)

for epoch in range(80):
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item()
    scheduler.step()
    if epoch % 20 == 19:
        print(f"epoch {epoch + 1} loss {total / len(loader):.5f}")

points = torch.linspace(-2.5, 2.5, 41).view(-1, 1).requires_grad_()
u = model(points)
du = torch.autograd.grad(u, points, torch.ones_like(u), create_graph=True)[0]
d2u = torch.autograd.grad(du, points, torch.ones_like(du), create_graph=True)[0]

print(f"value      mean error {(u - points ** 2).abs().mean().item():.4f}")
print(f"du/dx      mean error {(du - 2 * points).abs().mean().item():.4f}")
print(f"d2u/dx2    mean {d2u.mean().item():.4f}  mean error {(d2u - 2).abs().mean().item():.4f}")
