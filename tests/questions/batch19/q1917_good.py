import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(1, 50)
        self.fc2 = nn.Linear(50, 1)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


numbers = torch.arange(1, 4000).float().unsqueeze(1)
cubes = numbers ** 3

inputs = (numbers - numbers.mean()) / numbers.std()
targets = (cubes - cubes.mean()) / cubes.std()

model = Network()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.MSELoss()

for epoch in range(2000):
    optimizer.zero_grad()
    out = model(inputs)
    loss = criterion(out, targets)
    loss.backward()
    optimizer.step()
    if epoch % 400 == 0:
        print(f"epoch {epoch:4d}  loss {loss.item():.6g}  max prediction {out.max().item():.6g}")

with torch.no_grad():
    pred = model(inputs) * cubes.std() + cubes.mean()

residual = ((pred - cubes) ** 2).sum()
spread = ((cubes - cubes.mean()) ** 2).sum()
print(f"R2 {1 - (residual / spread).item():.4f}")
print(f"largest cube {cubes.max().item():.6g}  its prediction {pred.max().item():.6g}")
