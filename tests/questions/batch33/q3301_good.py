import torch
from torch import nn

torch.manual_seed(0)


def make_signal(batch, length):
    t = torch.arange(length, dtype=torch.float32)
    phase = torch.rand(batch, 3) * 6.28
    speed = torch.tensor([0.05, 0.08, 0.11])
    waves = torch.sin(t[None, None, :] * speed[None, :, None] + phase[:, :, None])
    return waves.sum(dim=1)


class DelayLine(nn.Module):
    def __init__(self, window):
        super().__init__()
        self.window = window
        self.gain = nn.Parameter(torch.ones(1))
        self.delay = nn.Parameter(torch.tensor(4.0))

    def forward(self, x):
        base = torch.arange(self.window, dtype=torch.float32)
        pos = base + self.delay
        low = pos.detach().floor().long().clamp(0, x.shape[1] - 2)
        part = pos - low
        return self.gain * ((1 - part) * x[:, low] + part * x[:, low + 1])


def target_of(x, window):
    return 0.7 * x[:, 11 : 11 + window]


def train():
    model = DelayLine(window=40)
    opt = torch.optim.Adam(model.parameters(), lr=0.1)
    for step in range(300):
        x = make_signal(32, 64)
        loss = nn.functional.mse_loss(model(x), target_of(x, 40))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 100 == 0:
            print(step, f"loss {loss.item():.4f}", "delay grad", model.delay.grad)
    print(f"delay {model.delay.item():.2f} gain {model.gain.item():.2f} loss {loss.item():.4f}")


train()
