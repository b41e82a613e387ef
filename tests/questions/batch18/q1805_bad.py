import math

import torch
from torch import nn

torch.manual_seed(5)


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.rnn = nn.RNN(input_size, hidden_size, batch_first=True)
        self.fc = nn.Linear(hidden_size, 1)

    def forward(self, inp, hidden):
        output, hidden = self.rnn(inp, hidden)
        return self.fc(output), hidden


wave = torch.sin(torch.arange(0, 24 * math.pi, 0.1))
train, test = wave[:600], wave[600:]
targets = wave[4:604:4].unsqueeze(1)

model = RNN(4, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
loss_fn = nn.MSELoss()

for epoch in range(300):
    hidden = torch.zeros(1, 64)
    optimizer.zero_grad()
    out, hidden = model(train.view(-1, 4), hidden)
    loss = loss_fn(out[-1], targets[-1])
    loss.backward()
    optimizer.step()
    if epoch % 60 == 0:
        print(f"epoch {epoch} loss {loss.item():.5f}")

with torch.no_grad():
    rows = test[:152].view(-1, 4)
    predicted, _ = model(rows[:-1], hidden.detach())
    expected = rows[1:, :1]
print(f"loss {loss.item():.5f} test mse {loss_fn(predicted, expected).item():.4f}")
print(f"predicted from {predicted.min().item():.2f} to {predicted.max().item():.2f}, wave from -1 to 1")
