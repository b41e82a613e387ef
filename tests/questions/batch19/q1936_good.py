import math
import torch
import torch.nn as nn

torch.manual_seed(0)
FRAMES, MELS, P, DIM = 32, 32, 8, 64
N = (FRAMES // P) * (MELS // P)


def spectrograms(n):
    t = torch.arange(FRAMES).float().view(1, 1, FRAMES)
    f = torch.arange(MELS).float().view(1, MELS, 1)
    pitch = torch.rand(n, 1, 1) * 6 + 4
    slope = (torch.rand(n, 1, 1) - 0.5) * 0.15
    phase = torch.rand(n, 1, 1) * 6.28
    tone = torch.cos(2 * math.pi * f / pitch + slope * t + phase)
    env = 0.7 + 0.3 * torch.sin(t / 5 + phase)
    return 4.0 * tone * env - 7.0 + 0.3 * torch.randn(n, MELS, FRAMES)


class MaskedAutoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.batch_norm = nn.BatchNorm2d(num_features=1, affine=False)
        self.unfold = nn.Unfold(P, stride=P)
        self.proj = nn.Linear(P * P, DIM)
        self.pos = nn.Parameter(torch.randn(1, N, DIM) * 0.1)
        self.mask_token = nn.Parameter(torch.zeros(1, 1, DIM))
        layer = nn.TransformerEncoderLayer(DIM, 4, 128, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
        self.final = nn.Sequential(nn.LayerNorm(DIM), nn.Linear(DIM, P * P))

    def forward(self, source, ratio=0.5):
        source = source.unsqueeze(1)
        source = self.batch_norm(source) * 0.5
        patches = self.unfold(source).transpose(-1, -2)
        mask = torch.rand(patches.shape[:2]).argsort(1).argsort(1) < int(N * ratio)
        tokens = torch.where(mask.unsqueeze(-1), self.mask_token, self.proj(patches))
        pred = self.final(self.encoder(tokens + self.pos))
        return pred[mask], patches[mask]


model = MaskedAutoencoder()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
data = spectrograms(2000)
for epoch in range(14):
    total, spread = 0.0, 0.0
    batches = torch.randperm(len(data)).split(50)
    for idx in batches:
        pred, target = model(data[idx])
        loss = ((pred - target) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() / len(batches)
        spread += target.std().item() / len(batches)
    print(f"epoch {epoch} loss {total:.6f} target std {spread:.4f}")

model.eval()
torch.manual_seed(1)
with torch.no_grad():
    pred, target = model(spectrograms(400))
    mse = ((pred - target) ** 2).mean().item()
    rel = mse / target.var().item()
print(f"test loss {mse:.6f}  target std {target.std().item():.4f}  loss / target variance {rel:.4f}")
