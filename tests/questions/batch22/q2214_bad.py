import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
HIDDEN, L, SHIFT = 64, 21, 2

ramp = np.arange(L + SHIFT) / 20
x = torch.tensor(ramp[:L], dtype=torch.double).view(1, L, 1)
y = torch.tensor(ramp[SHIFT:], dtype=torch.double)


class Ramp(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(1, HIDDEN, batch_first=True)
        self.linear = nn.Linear(HIDDEN, 1)

    def forward(self, x):
        state = (torch.zeros(1, 1, HIDDEN, dtype=x.dtype), torch.zeros(1, 1, HIDDEN, dtype=x.dtype))
        output, _ = self.lstm(x, state)
        return [self.linear(output[:, i, :]).squeeze() for i in range(output.shape[1])]


model = Ramp().double()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

history = []
for step in range(1000):
    loss = 0.0
    for i, o in enumerate(model(x)):
        loss = loss + criterion(o, y[i])
    loss.backward()
    optimizer.step()
    history.append(loss.item() / L)
    if step % 200 == 0:
        print(f"step {step} mse {history[-1]:.6f}")

with torch.no_grad():
    pred = torch.stack(model(x))
print("expected", np.round(y.numpy()[::5], 3))
print("output  ", np.round(pred.numpy()[::5], 3))
print(f"final mse {(pred - y).pow(2).mean().item():.6f}  worst of the last 100 steps {max(history[-100:]):.6f}")
