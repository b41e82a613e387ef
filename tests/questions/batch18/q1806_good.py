import math

import torch
from torch import nn

torch.manual_seed(6)


class SineRNN(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.rnn = nn.LSTM(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        r, _ = self.rnn(x)
        return self.out(r)


period = 16
t = torch.arange(0, 200 * period) * (2 * math.pi / period)
inputs, outputs = torch.sin(t), torch.sin(t / 2)
length, batch_size = 32, 16

model = SineRNN()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
criterion = nn.MSELoss()
for step in range(500):
    starts = torch.randint(0, 95, (batch_size,)) * 2 * period
    index = starts.unsqueeze(1) + torch.arange(length)
    x, y = inputs[index].unsqueeze(2), outputs[index].unsqueeze(2)
    optimizer.zero_grad()
    prediction = model(x)
    loss = criterion(prediction, y)
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(f"step {step} loss {loss.item():.4f}")

print(f"last loss {loss.item():.4f}, largest prediction {prediction.abs().max().item():.3f}")
