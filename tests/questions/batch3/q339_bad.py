import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(91)


class Synthesizer(nn.Module):
    def __init__(self, phone_dim=12, wave=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(phone_dim, 64),
            nn.LeakyReLU(0.1),
            nn.Linear(64, 64),
            nn.LeakyReLU(0.1),
            nn.Linear(64, wave),
        )

    def forward(self, phone):
        return torch.tanh(self.net(phone))


class Discriminator(nn.Module):
    def __init__(self, wave=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(wave, 64), nn.LeakyReLU(0.1), nn.Linear(64, 1))

    def forward(self, y):
        return self.net(y)


mixing = torch.randn(12, 32) * 0.3


def make_batch(size=32):
    phone = torch.randn(size, 12)
    return phone, torch.tanh(phone @ mixing)


net_g, net_d = Synthesizer(), Discriminator()
optim_g = torch.optim.AdamW(net_g.parameters(), lr=2e-3, betas=(0.8, 0.99))
optim_d = torch.optim.AdamW(net_d.parameters(), lr=2e-3, betas=(0.8, 0.99))
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)

for global_step in range(250):
    phone, wave = make_batch()
    with torch.amp.autocast("cpu", dtype=torch.bfloat16):
        y_hat = net_g(phone)
        real, fake = net_d(wave), net_d(y_hat.detach())
    loss_disc = ((1 - real.float()) ** 2).mean() + (fake.float() ** 2).mean()
    optim_d.zero_grad()
    scaler.scale(loss_disc).backward()
    scaler.unscale_(optim_d)
    grad_norm_d = torch.nn.utils.clip_grad_norm_(net_d.parameters(), 100.0)
    scaler.step(optim_d)

    with torch.amp.autocast("cpu", dtype=torch.bfloat16):
        fake = net_d(y_hat)
    loss_mel = F.l1_loss(y_hat.float(), wave) * 10
    loss_gen_all = ((1 - fake.float()) ** 2).mean() + loss_mel
    optim_g.zero_grad()
    scaler.scale(loss_gen_all).backward()
    scaler.unscale_(optim_g)
    grad_norm_g = torch.nn.utils.clip_grad_norm_(net_g.parameters(), 100.0)
    scaler.step(optim_g)
    scaler.update()
    optim_g.step()
    optim_d.step()

    if global_step % 50 == 0:
        print(
            f"{global_step}: mel {loss_mel.item():.4f} disc {loss_disc.item():.4f} norm {grad_norm_g:.3f} {grad_norm_d:.3f}"
        )
