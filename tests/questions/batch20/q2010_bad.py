import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(13)


class LinearRegression(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, 1)

    def forward(self, x):
        return self.fc(x)


d = 8
true_w = torch.tensor([[1.5, -2.0, 0.7, 0.3, -0.4, 1.1, -0.9, 0.5]])
true_b = 0.8
scale = torch.tensor([1.0, 1.0, 0.8, 0.6, 0.5, 0.5, 0.4, 0.4])
x = torch.randn(2000, d) * scale
y = x @ true_w.T + true_b + 0.05 * torch.randn(2000, 1)
x_test = torch.randn(500, d) * scale
y_test = x_test @ true_w.T + true_b + 0.05 * torch.randn(500, 1)

loader = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)
model = LinearRegression(d)
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)

for epoch in range(60):
    running = 0.0
    for xb, yb in loader:
        pred = model(xb)
        loss = criterion(pred, yb)
        optimizer.zero_grad()
        loss.backward(loss)
        optimizer.step()
        running += loss.item()
    if epoch % 10 == 9:
        print(f"epoch {epoch + 1:3d} loss {running / len(loader):.5f}")

with torch.no_grad():
    test = criterion(model(x_test), y_test).item()
    off = (model.fc.weight - true_w).abs().max().item()
print(f"test mse {test:.5f} (noise 0.0025)  largest weight error {off:.4f}")
