import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(0)
device = torch.device("cpu")


class ThresholdLayer(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.threshold = nn.Parameter(
            torch.from_numpy(rng.normal(2.5, 0.1, features)).to(device, torch.float32)
        )

    def forward(self, x):
        return torch.sign(x) * torch.relu(x.abs() - self.threshold)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(10, 32)
        self.bn = nn.BatchNorm1d(32)
        self.shrink = ThresholdLayer(32)
        self.fc2 = nn.Linear(32, 1)

    def forward(self, x):
        return self.fc2(self.shrink(self.bn(self.fc1(x))))


x = torch.randn(1024, 10)
y = torch.sin(2 * x[:, :1]) + x[:, 1:2] * x[:, 2:3]

model = Net().to(device)
print("parameters:", [name for name, _ in model.named_parameters()])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.MSELoss()
for epoch in range(15):
    total = 0.0
    for idx in torch.randperm(1024).split(64):
        optimizer.zero_grad()
        loss = criterion(model(x[idx].to(device)), y[idx].to(device))
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 2:
        print(
            f"epoch {epoch}: loss {total / 16:.4f}, mean threshold {model.shrink.threshold.mean().item():.4f}"
        )
