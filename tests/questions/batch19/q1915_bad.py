import torch
from torch import nn

torch.manual_seed(0)

DIM = 10


class Readout(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Parameter(torch.randn(DIM, DIM) * 0.3)
        self.read = nn.Parameter(torch.randn(1, DIM) * 0.3)

    def forward(self, a):
        state = torch.mm(self.mix, a)
        total = 0
        for i in range(DIM):
            state[i] = state[i] + 1
            total = total + torch.mm(self.read, torch.tanh(torch.mm(self.mix, state)))
        return total.squeeze(0)


def target_of(a):
    return a.pow(2).sum(dim=0) - 3.0


inputs = torch.randn(DIM, 400)
targets = target_of(inputs)

model = Readout()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
first = None

for step in range(1, 401):
    cols = torch.randint(0, inputs.size(1), (64,))
    pred = model(inputs[:, cols])
    loss = ((pred - targets[cols]) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if first is None:
        first = loss.item()
    if step % 100 == 0:
        print(f"step {step:3d}  loss {loss.item():.4f}")

with torch.no_grad():
    final = ((model(inputs) - targets) ** 2).mean().item()
print(f"first loss {first:.4f}")
print(f"final loss {final:.4f}")
