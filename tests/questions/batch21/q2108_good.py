import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(11)
torch.set_num_threads(1)

N = 4096
x = torch.rand(N, 6)
lit = (torch.rand(N, 1) < 0.7).float()
flux = 3 * x[:, 0] + x[:, 2] * x[:, 3] + 0.5 * torch.sin(6 * x[:, 4]).abs() + 0.2 * x[:, 1]
temperature = (lit * flux[:, None]) ** 0.25
features = torch.cat([x, lit], dim=1)
x_train, x_test = features[:3584], features[3584:]
y_train, y_test = temperature[:3584], temperature[3584:]
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True)


class FluxNet(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(6, width), nn.ReLU(),
            nn.Linear(width, width), nn.ReLU(),
            nn.Linear(width, 1), nn.Softplus(),
        )

    def forward(self, x):
        return self.body(x[:, :6]) * x[:, 6:]


def predict(model, x):
    out = model(x)
    return (out + 1e-8) ** (1 / 4)


model = FluxNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
mse, mae = nn.MSELoss(), nn.L1Loss()

for epoch in range(30):
    running = 0.0
    for xb, yb in loader:
        pred = predict(model, xb)
        loss = 2 * mse(pred, yb) + 0.1 * mae(pred, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1:2d}  loss {running / len(loader):.4f}")

model.eval()
with torch.no_grad():
    error = (predict(model, x_test) - y_test).abs().mean().item()
print(f"test MAE {error:.4f}")
