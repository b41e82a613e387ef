"""More programs of GS442: each bad one is reported at its marks, each good one by no rule."""


def bad_in_a_class() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    class VAE(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.enc, self.mu, self.lv = nn.Linear(20, 32), nn.Linear(32, 4), nn.Linear(32, 4)
            self.dec = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 20))

        def sample(self, mu: torch.Tensor, lv: torch.Tensor) -> torch.Tensor:
            std = torch.exp(0.5 * lv)
            eps = torch.rand(std.shape)  # cause: GS442
            return mu + eps * std

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
            h = F.relu(self.enc(x))
            mu, lv = self.mu(h), self.lv(h)
            return self.dec(self.sample(mu, lv)), mu, lv

    torch.manual_seed(0)
    vae = VAE()
    opt = torch.optim.Adam(vae.parameters(), 1e-3)
    for _ in range(3):
        x = torch.rand(16, 20)
        rec, mu, lv = vae(x)
        bce = F.binary_cross_entropy_with_logits(rec, x, reduction="sum")
        loss = bce - 0.5 * torch.sum(1 + lv - mu.pow(2) - lv.exp())  # effect: GS442
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_by_the_logarithm_of_the_deviation() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(32, 6)
        center, log_scale = encoder(x).chunk(2, dim=1)
        scale = log_scale.exp()
        eps = torch.rand(scale.size())  # cause: GS442
        z = torch.addcmul(center, scale, eps)
        variance = (2 * log_scale).exp()
        kl = 0.5 * (center.square() + variance - 1 - 2 * log_scale).sum(1)  # effect: GS442
        loss = ((decoder(z) - x).pow(2).sum(1) + kl).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_by_a_soft_deviation() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(32, 6)
        center, raw = encoder(x).chunk(2, dim=1)
        scale = nn.functional.softplus(raw) + 1e-3
        z = center + scale * torch.rand_like(scale)  # cause: GS442
        kl = 0.5 * (center**2 + scale**2 - 2 * scale.log() - 1).sum(1)  # effect: GS442
        loss = ((decoder(z) - x).pow(2).sum(1) + kl).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_normal_noise_by_the_inverse() -> None:
    import math

    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(32, 6)
        center, log_scale = encoder(x + torch.rand_like(x) / 32).chunk(2, dim=1)
        u = torch.rand(center.shape).clamp(1e-6, 1 - 1e-6)
        z = torch.addcmul(center, log_scale.exp(), math.sqrt(2) * torch.erfinv(2 * u - 1))
        kl = 0.5 * (center.square() + (2 * log_scale).exp() - 1 - 2 * log_scale).sum(1)
        loss = ((decoder(z) - x).pow(2).sum(1) + kl).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_uniform_within_its_width() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(32, 6)
        low, log_width = encoder(x).chunk(2, dim=1)
        width = log_width.exp()
        z = low + width * torch.rand_like(width)
        square = low**2 + low * width + width**2 / 3  # its mean over the width
        kl = (0.5 * square - log_width).sum(1)
        loss = ((decoder(z) - x).pow(2).sum(1) + kl).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_mixed_by_a_number_from_zero_to_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(32, 6)
        mu, logvar = encoder(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        share = torch.rand(32, 1)
        mixed = share * z + (1 - share) * z.flip(0)
        divergence = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
        loss = (decoder(z) - x).pow(2).sum(1).mean() + divergence + 0.01 * mixed.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
