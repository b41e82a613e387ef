import torch
from torch import nn

torch.manual_seed(4)

FREQ, TIME, MELS = 32, 24, 8


def mel_bank():
    bank = torch.zeros(FREQ, MELS)
    width = FREQ // MELS
    for m in range(MELS):
        bank[m * width:(m + 1) * width, m] = 1.0 / width
    return bank


BANK = mel_bank()


def perceptual_transform(x):
    mel = x.view(x.size(0), x.size(2), x.size(1)) @ BANK
    return torch.log(mel + 1e-2)


def make_batch(n):
    clean = 0.02 * torch.rand(n, FREQ, TIME)
    for i in range(n):
        for _ in range(3):
            f = int(torch.randint(0, FREQ - 1, (1,)))
            clean[i, f:f + 2] += torch.rand(1) * torch.linspace(1, 0.3, TIME)
    noise_level = torch.linspace(0.8, 0.05, FREQ).view(1, FREQ, 1)
    noisy = clean + noise_level * torch.rand(n, FREQ, TIME)
    return noisy, clean


class MaskNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(FREQ, 64, 3, padding=1), nn.ReLU(), nn.Conv1d(64, FREQ, 3, padding=1), nn.Sigmoid())

    def forward(self, noisy):
        return noisy * self.net(noisy)


def band_error(a, b):
    pa = torch.einsum("bft,fm->btm", a, BANK)
    pb = torch.einsum("bft,fm->btm", b, BANK)
    return (torch.log(pa + 1e-2) - torch.log(pb + 1e-2)).abs().mean().item()


torch.manual_seed(8)
test_noisy, test_clean = make_batch(100)
model = MaskNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for step in range(1, 201):
    noisy, clean = make_batch(16)
    estimate = model(noisy)
    loss = (perceptual_transform(estimate) - perceptual_transform(clean)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        with torch.no_grad():
            error = band_error(model(test_noisy), test_clean)
        print(f"step {step:3d}  loss {loss.item():.4f}  test log-band error {error:.4f}")
