import torch
import torch.nn as nn

EPS = 1e-8


class NegSTOILike(nn.Module):
    """Mean correlation of short-time envelopes in a few bands, negated."""

    def __init__(self, n_fft=64, hop=32, n_bands=6, seg=8):
        super().__init__()
        self.n_fft, self.hop, self.seg = n_fft, hop, seg
        edges = torch.linspace(0, n_fft // 2 + 1, n_bands + 1).long()
        obm = torch.zeros(n_bands, n_fft // 2 + 1)
        for b in range(n_bands):
            obm[b, edges[b] : edges[b + 1]] = 1.0
        self.register_buffer("obm", obm)
        self.register_buffer("window", torch.hann_window(n_fft))

    def bands(self, x):
        frames = x.unfold(-1, self.n_fft, self.hop) * self.window
        power = torch.fft.rfft(frames).abs().pow(2)
        return torch.sqrt(power @ self.obm.t()) + EPS

    def normalize(self, x):
        x = x - x.mean(dim=-1, keepdim=True)
        return x / (torch.sqrt(torch.sum(x**2, dim=-1, keepdim=True)) + EPS)

    def forward(self, est, clean):
        x = self.bands(est).transpose(1, 2).unfold(-1, self.seg, self.seg // 2)
        y = self.bands(clean).transpose(1, 2).unfold(-1, self.seg, self.seg // 2)
        return -(self.normalize(x) * self.normalize(y)).sum(-1).mean()


class MaskNet(nn.Module):
    def __init__(self, kernel=32):
        super().__init__()
        self.enc = nn.Conv1d(1, 48, kernel, stride=kernel // 2, bias=False)
        self.mask = nn.Sequential(
            nn.Conv1d(48, 48, 3, padding=1), nn.ReLU(), nn.Conv1d(48, 48, 1), nn.Sigmoid()
        )
        self.dec = nn.ConvTranspose1d(48, 1, kernel, stride=kernel // 2, bias=False)

    def forward(self, mix):
        z = torch.relu(self.enc(mix.unsqueeze(1)))
        return self.dec(z * self.mask(z)).squeeze(1)


def utterances(n=16, length=1024):
    t = torch.arange(length) / 256
    f = 8 + 40 * torch.rand(n, 1)
    clean = torch.sin(6.28 * f * t) * (0.6 + 0.4 * torch.sin(6.28 * torch.rand(n, 1) * t))
    noise = 0.3 * torch.randn(n, length)
    gate = torch.ones(n, length)
    for i, start in enumerate(torch.randint(0, length - 512, (n,)).tolist()):
        gate[i, start : start + 400] = 0.0
    return clean * gate, noise * gate


torch.manual_seed(12)
model, criterion = MaskNet(), NegSTOILike()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(1, 81):
    clean, noise = utterances()
    est = model(clean + noise)
    loss = criterion(est, clean)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    if step % 16 == 0:
        print(f"step {step}: neg stoi {loss.item():.4f}")
