import torch
import torch.nn as nn

torch.manual_seed(0)
CH, BAND, T = 2, 6, 20


class MaskEstimation(nn.Module):
    def __init__(self, bands=4, dim=32):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(bands))
        self.mlps = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, 64), nn.Tanh(), nn.Linear(64, CH * BAND)) for _ in range(bands)
        )

    def forward(self, x):
        # x: [batch, bands, time, dim]
        masks = []
        for k, (norm, mlp) in enumerate(zip(self.norms, self.mlps)):
            out = mlp(norm(x[:, k]))
            out = out.permute(0, 2, 1).reshape(x.shape[0], CH, BAND, x.shape[2])
            masks.append(out)
        return torch.sigmoid(torch.cat(masks, dim=2))


class BandSplitRNN(nn.Module):
    def __init__(self, bands=4, dim=32):
        super().__init__()
        self.split = nn.ModuleList(nn.Linear(CH * BAND, dim) for _ in range(bands))
        self.rnn = nn.LSTM(dim, dim, batch_first=True)
        self.mask = MaskEstimation(bands, dim)

    def forward(self, spec):
        feats = []
        for k, fc in enumerate(self.split):
            band = spec[:, :, k * BAND:(k + 1) * BAND]
            feats.append(fc(band.permute(0, 3, 1, 2).flatten(2)))
        x = torch.stack(feats, dim=1)
        b, k, t, d = x.shape
        x = x + self.rnn(x.reshape(b * k, t, d))[0].reshape(b, k, t, d)
        return spec * self.mask(x)


def mixture(n=16, bands=4):
    f = bands * BAND
    level = torch.rand(n, CH, f, T)
    vocals = (torch.rand(n, 1, 1, T) > 0.5) & (torch.rand(n, 1, f, 1) > 0.5)
    source = level * vocals
    return source + 0.1 * torch.rand(n, CH, f, T), source


model = BandSplitRNN()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(250):
    mix, target = mixture()
    loss = (model(mix) - target).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    if step % 50 == 0 or step == 249:
        sdr = 10 * torch.log10(target.pow(2).sum() / (model(mix) - target).pow(2).sum())
        print(f"step {step:3d}  l1 {loss.item():.4f}  SDR {sdr.item():.2f} dB")
