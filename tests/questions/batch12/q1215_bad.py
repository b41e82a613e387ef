import torch
import torch.nn as nn
import torch.nn.functional as F


class CellVAE(nn.Module):
    def __init__(self, genes=120, hidden=64, latent=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(genes, hidden), nn.ReLU())
        self.fc_mean = nn.Linear(hidden, latent)
        self.fc_var = nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, genes))

    def forward(self, x):
        h = self.encoder(x)
        mu, logvar = self.fc_mean(h), self.fc_var(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.decoder(z), mu, logvar


def kl_divergence(mu, logvar):
    return -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())


def make_cells(n, generator):
    g = torch.Generator().manual_seed(11)
    programs = torch.randn(5, 120, generator=g)
    kind = torch.randint(5, (n,), generator=generator)
    strength = 1 + 0.3 * torch.randn(n, 1, generator=generator)
    return strength * programs[kind] + 0.3 * torch.randn(n, 120, generator=generator)


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    cells = make_cells(2000, generator)
    print(f"variance of the data {cells.var(0).mean():.3f}")
    model = CellVAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(21):
        sum_recon = sum_kl = 0.0
        for rows in torch.randperm(len(cells), generator=generator).split(100):
            x = cells[rows]
            x_hat, mu, logvar = model(x)
            recon = F.mse_loss(x_hat, x)
            kl = kl_divergence(mu, logvar)
            loss = recon + kl
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            sum_recon += F.mse_loss(x_hat, x).item() / 20
            sum_kl += kl_divergence(mu, logvar).item() / len(x) / 20
        if epoch % 5 == 0:
            print(f"epoch {epoch}: error per gene {sum_recon:.4f}  kl per cell {sum_kl:.5f}")


if __name__ == "__main__":
    main()
