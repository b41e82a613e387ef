import torch
from torch import nn

torch.manual_seed(0)


class LearnedGate(nn.Module):
    """Keeps what lies above a learned level in each channel."""

    def __init__(self, channels):
        super().__init__()
        self.thres = nn.Parameter(torch.full((channels,), 0.0))

    def forward(self, a):
        keep = torch.sigmoid(5.0 * (a - self.thres))
        return a * keep


class Denoiser(nn.Module):
    def __init__(self, channels=6):
        super().__init__()
        self.gate = LearnedGate(channels)
        self.gain = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(self, signal):
        return self.gate(signal) * self.gain + self.bias


def make_signals(n, channels=6):
    spikes = (torch.rand(n, channels) < 0.3).float() * (3.0 + torch.rand(n, channels))
    return spikes + 0.7 * torch.rand(n, channels) * torch.arange(1, channels + 1) / 2, spikes


def train(model, steps=300):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    criterion = nn.MSELoss()
    for step in range(1, steps + 1):
        noisy, clean = make_signals(128)
        loss = criterion(model(noisy), clean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 75 == 0:
            levels = " ".join(f"{t:.2f}" for t in model.gate.thres.tolist())
            print(f"step {step}: loss {loss.item():.4f} levels {levels}")


if __name__ == "__main__":
    train(Denoiser())
