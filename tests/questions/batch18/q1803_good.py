import torch
from torch import nn

torch.manual_seed(2)


class Forecaster(nn.Module):
    def __init__(self, batch_size, hidden=24):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)
        self.h0 = torch.zeros(1, batch_size, hidden)
        self.c0 = torch.zeros(1, batch_size, hidden)

    def forward(self, inp):
        out, state = self.lstm(inp, (self.h0, self.c0))
        self.h0, self.c0 = state[0].detach(), state[1].detach()
        return self.head(out)


batch_size, window = 8, 20
t = torch.arange(0, 4000) * 0.1
series = torch.stack([torch.sin(t + 0.7 * k) for k in range(batch_size)])
model = Forecaster(batch_size)
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for step in range(150):
    start = step * window
    inp = series[:, start : start + window].unsqueeze(2)
    target = series[:, start + 1 : start + window + 1].unsqueeze(2)
    optimizer.zero_grad()
    loss = criterion(model(inp), target)
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step} loss {loss.item():.4f}")
print(f"last loss {loss.item():.4f}")
