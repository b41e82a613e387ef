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
