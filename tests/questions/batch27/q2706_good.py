import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(1)


class PeriodDiscriminator(nn.Module):
    def __init__(self, period):
        super().__init__()
        self.period = period
        self.net = nn.Sequential(nn.Conv2d(1, 8, (5, 1), padding=(2, 0)), nn.LeakyReLU(0.1),
                                 nn.Conv2d(8, 1, (3, 1), padding=(1, 0)))

    def forward(self, x):
        x = x[:, :x.shape[1] // self.period * self.period]
        return self.net(x.view(len(x), 1, -1, self.period)).flatten(1)


class MultiPeriodLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.discs = nn.ModuleList([PeriodDiscriminator(p) for p in (2, 3, 5)])

    def disc_loss(self, real, fake):
        return sum(((d(real) - 1) ** 2).mean() + (d(fake) ** 2).mean() for d in self.discs) / len(self.discs)

    def gen_loss(self, fake):
        return sum(((d(fake) - 1) ** 2).mean() for d in self.discs) / len(self.discs)


class MultiResolutionLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.ffts = (16, 32)
        self.discs = nn.ModuleList([nn.Sequential(nn.Conv1d(n // 2 + 1, 12, 3, padding=1), nn.LeakyReLU(0.1),
                                                  nn.Conv1d(12, 1, 3, padding=1)) for n in self.ffts])

    def spec(self, x, n):
        return torch.stft(x, n, n // 2, window=torch.hann_window(n), return_complex=True).abs()

    def disc_loss(self, real, fake):
        total = 0.0
        for d, n in zip(self.discs, self.ffts):
            total = total + ((d(self.spec(real, n)) - 1) ** 2).mean() + (d(self.spec(fake, n)) ** 2).mean()
        return total / len(self.discs)

    def gen_loss(self, fake):
        return sum(((d(self.spec(fake, n) + 1e-6) - 1) ** 2).mean() for d, n in zip(self.discs, self.ffts)) / 2


class Enhancer(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(1, 16, 9, padding=4), nn.PReLU(), nn.Conv1d(16, 16, 9, padding=4), nn.PReLU(),
                                 nn.Conv1d(16, 1, 9, padding=4))

    def forward(self, x):
        return self.net(x[:, None])[:, 0]


def batch(n=16, length=240):
    t = torch.arange(length) / 40.0
    f = torch.rand(n, 1) * 3 + 1
    clean = torch.sin(2 * torch.pi * f * t + torch.rand(n, 1) * 6)
    return clean, clean + 0.5 * torch.randn(n, length)


model = Enhancer()
loss_mrd, loss_mpd = MultiResolutionLoss(), MultiPeriodLoss()
params_disc = list(loss_mrd.parameters()) + list(loss_mpd.parameters())
opt_gen = torch.optim.AdamW(model.parameters(), lr=1e-3)
opt_disc = torch.optim.AdamW(params_disc, lr=1e-3)

for step in range(200):
    clean, noisy = batch()
    fake = model(noisy)
    d_mrd = loss_mrd.disc_loss(clean, fake.detach())
    d_mpd = loss_mpd.disc_loss(clean, fake.detach())
    opt_disc.zero_grad()
    (d_mrd + d_mpd).backward()
    opt_disc.step()

    g_loss = F.l1_loss(fake, clean) * 5 + loss_mrd.gen_loss(fake) + loss_mpd.gen_loss(fake)
    opt_gen.zero_grad()
    g_loss.backward()
    opt_gen.step()
    if step % 40 == 39:
        print(f"step {step + 1} gen {g_loss.item():.4f} disc mrd {d_mrd.item():.4f} mpd {d_mpd.item():.4f}")
