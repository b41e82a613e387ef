import math

import torch
import torch.nn as nn


def kl(mu, log_var):
    loss = -0.5 * torch.sum(1 + log_var - mu**2 - torch.exp(log_var), dim=1)
    return torch.mean(loss, dim=0)


def kl_2(delta_mu, delta_log_var, mu, log_var):
    var = torch.exp(log_var)
    delta_var = torch.exp(delta_log_var)
    loss = -0.5 * torch.sum(1 + delta_log_var - delta_mu**2 / var - delta_var, dim=1)
    return torch.mean(loss, dim=0)


def sample(mu, log_var):
    return mu + torch.randn_like(mu) * torch.exp(0.5 * log_var)


class NVAE(nn.Module):
    """Two groups of latents: the second one is a residual on what the decoder expects from the first."""

    def __init__(self, width=24, top=2, low=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(width, 64), nn.ELU())
        self.top = nn.Linear(64, 2 * top)
        self.up = nn.Sequential(nn.Linear(top, 48), nn.ELU())
        self.prior = nn.Linear(48, 2 * low)
        self.residual = nn.Linear(48 + 64, 2 * low)
        self.decoder = nn.Sequential(nn.Linear(48 + low, 64), nn.ELU(), nn.Linear(64, width))

    def forward(self, x):
        e = self.encoder(x)
        mu, log_var = self.top(e).chunk(2, 1)
        h = self.up(sample(mu, log_var))
        p_mu, p_log_var = self.prior(h).chunk(2, 1)
        d_mu, d_log_var = self.residual(torch.cat([h, e], 1)).chunk(2, 1)
        z = sample(p_mu + d_mu, p_log_var + d_log_var)
        return self.decoder(torch.cat([h, z], 1)), kl(mu, log_var), kl_2(d_mu, d_log_var, p_mu, p_log_var)


def make_data(n, width=24):
    factors = torch.randn(n, 6)
    return torch.tanh(factors @ torch.randn(6, width)) + 0.1 * torch.randn(n, width)


def main():
    torch.manual_seed(0)
    x = make_data(2048)
    sigma = 0.2
    for batch in (32, 256):
        torch.manual_seed(1)
        model = NVAE()
        optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
        for step in range(600):
            rows = torch.randint(len(x), (batch,))
            recon, kl_top, kl_low = model(x[rows])
            error = ((recon - x[rows]) ** 2).sum(1).mean() / (2 * sigma**2)
            loss = error + kl_top + kl_low
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            recon, _, _ = model(x)
            mse = ((recon - x) ** 2).mean().item()
        print(
            f"batch {batch}: reconstruction error {math.sqrt(mse):.3f}  "
            f"kl of the first group {kl_top.item():.2f}  of the second {kl_low.item():.2f}"
        )


if __name__ == "__main__":
    main()
