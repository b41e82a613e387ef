import numpy as np
import torch

torch.manual_seed(0)
torch.set_num_threads(1)
data = np.arange(0, 60, 1) / 60.0


def shift_data(window_size, data):
    x, y = [], []
    for i in range(len(data) - window_size):
        x.append(data[i:i + window_size])
        y.append(data[i + window_size])
    return np.array(x), np.array(y)


class LSTM(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(1, 20, 1, batch_first=True)
        self.fc = torch.nn.Linear(20, 1)
        self.flatten = torch.nn.Flatten(start_dim=0, end_dim=1)

    def forward(self, x):
        x, _ = self.lstm(x)
        x = self.fc(x[:, -1])
        x = self.flatten(x)
        return x


x, y = shift_data(10, data)
x = torch.tensor(x, dtype=torch.float32).unsqueeze(-1)
y = torch.tensor(y, dtype=torch.float32)
dataset = torch.utils.data.TensorDataset(x, y)
loader = torch.utils.data.DataLoader(dataset, batch_size=1, shuffle=True)
model = LSTM()
criterion = torch.nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(15):
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        output = model(xb)
        loss = criterion(output, yb)
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 2:
        print(f"epoch {epoch} loss {total / len(loader):.6f}")

with torch.no_grad():
    for i in (0, 20, 40):
        out = model(x[i:i + 1])
        print("Input:", (x[i, 0, 0] * 60).item(), "...", (x[i, -1, 0] * 60).item(),
              "Output:", (out * 60).numpy().round(2).tolist(), "Actual:", (y[i] * 60).item())
