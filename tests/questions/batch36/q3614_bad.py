import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(13)


class SequenceLayer(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.conv = nn.Conv1d(d_model, d_model, 5, padding=4, groups=d_model)
        self.mix = nn.Linear(d_model, d_model)

    def forward(self, x):
        y = self.conv(x.transpose(1, 2))[..., :x.shape[1]].transpose(1, 2)
        return self.mix(F.gelu(y))


class SequenceResidualBlock(nn.Module):
    def __init__(self, d_model, residual=None, prenorm=True):
        super().__init__()
        self.layer = SequenceLayer(d_model)
        self.residual = residual
        self.prenorm = prenorm
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x):
        y = x
        if self.prenorm:
            y = self.norm(y)
        y = self.layer(y)
        if self.residual is not None:
            x = self.residual(x, y)
        if not self.prenorm:
            x = self.norm(x)
        return x


class SequenceModel(nn.Module):
    def __init__(self, d_input=3, d_model=24, n_layers=3, n_classes=4):
        super().__init__()
        self.encoder = nn.Linear(d_input, d_model)
        self.layers = nn.ModuleList([SequenceResidualBlock(d_model) for _ in range(n_layers)])
        self.decoder = nn.Linear(d_model, n_classes)

    def forward(self, x):
        x = self.encoder(x)
        for block in self.layers:
            x = block(x)
        return self.decoder(x.mean(dim=1))


def make(n, length=32):
    label = torch.randint(0, 4, (n,))
    freq = torch.tensor([0.3, 0.7, 1.2, 1.9])[label].view(n, 1, 1)
    t = torch.arange(length).view(1, length, 1)
    phase = 6.28 * torch.rand(n, 1, 3)
    return torch.sin(freq * t + phase) + 0.3 * torch.randn(n, length, 3), label


x, y = make(800)
xv, yv = make(300)
model = SequenceModel()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for epoch in range(12):
    for i in range(0, 800, 40):
        loss = F.cross_entropy(model(x[i:i + 40]), y[i:i + 40])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        acc = (model(xv).argmax(1) == yv).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} val acc {acc:.3f}")
