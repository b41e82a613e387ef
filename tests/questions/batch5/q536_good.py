import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Recognizer(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.window = nn.Conv1d(1, 12, 16, stride=8).requires_grad_(False)
        self.enc = nn.Sequential(nn.Linear(12, 32), nn.LeakyReLU(0.1), nn.Linear(32, classes))

    def compute_features(self, wavs):
        energy = self.window(wavs.unsqueeze(1)).pow(2).mean(-1)
        return torch.log1p(energy)

    def forward(self, wavs):
        feats = self.compute_features(wavs)
        return self.enc(feats)


def tones(n):
    label = torch.randint(0, 4, (n,))
    time = torch.arange(256) / 256
    pitch = 8.0 * (label + 1).unsqueeze(1)
    return torch.sin(6.2832 * (pitch * time + torch.rand(n, 1))) + 0.2 * torch.randn(n, 256), label


model = Recognizer()
optimizer = torch.optim.Adam(model.enc.parameters(), lr=0.01)
for step in range(1, 401):
    wavs, labels = tones(64)
    loss = F.cross_entropy(model(wavs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"training loss {loss.item():.4f}")

wavs, labels = tones(64)
delta = torch.zeros(256, requires_grad=True)
attack = torch.optim.Adam([delta], lr=0.02)
for step in range(1, 101):
    loss = -F.cross_entropy(model(wavs + delta), labels)
    attack.zero_grad()
    loss.backward()
    attack.step()
    if step % 25 == 0:
        print(f"attack step {step}: loss {loss.item():.4f}, size {delta.abs().max().item():.4f}")
