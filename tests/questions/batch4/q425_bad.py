import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class TransformerEncoder(nn.Module):
    def __init__(self, dim=32, layers=2):
        super().__init__()
        self.pos_conv = nn.Sequential(nn.Conv1d(dim, dim, 9, padding=4, groups=4), nn.GELU())
        self.layers = nn.ModuleList(
            [nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True) for _ in range(layers)]
        )
        self.layer_norm = nn.LayerNorm(dim)

    def extract_features(self, x):
        x_conv = self.pos_conv(x.transpose(1, 2))
        x_conv = x_conv.transpose(1, 2)
        x += x_conv
        x = self.layer_norm(x)
        for layer in self.layers:
            x = layer(x)
        return x

    def forward(self, x):
        return self.extract_features(x)


class Beats(nn.Module):
    def __init__(self, mel=24, dim=32, classes=4):
        super().__init__()
        self.patch = nn.Linear(mel, dim)
        self.encoder = TransformerEncoder(dim)
        self.predictor = nn.Linear(dim, classes)

    def forward(self, fbank):
        x = self.patch(fbank)
        x = self.encoder(x)
        return self.predictor(x.mean(1))


events = torch.randn(4, 6, 24)
labels = torch.randint(0, 4, (256,))
fbank = 0.5 * torch.randn(256, 20, 24)
for i, label in enumerate(labels):
    start = int(torch.randint(0, 14, ()))
    fbank[i, start : start + 6] += events[label]

model = Beats()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(6):
    total = 0.0
    for idx in torch.randperm(256).split(32):
        loss = F.cross_entropy(model(fbank[idx]), labels[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: loss {total / 8:.4f}")
