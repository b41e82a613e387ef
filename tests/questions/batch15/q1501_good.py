import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def gumbel_softmax(logits, temperature):
    noise = -torch.log(-torch.log(torch.rand_like(logits) + 1e-20) + 1e-20)
    return F.softmax((logits + noise) / temperature, dim=-1)


class VAEGumbel(nn.Module):
    def __init__(self, width, latent_dim=6, categorical_dim=8):
        super().__init__()
        self.latent_dim, self.categorical_dim = latent_dim, categorical_dim
        self.encoder = nn.Sequential(
            nn.Linear(width, 96), nn.ReLU(), nn.Linear(96, latent_dim * categorical_dim)
        )
        self.decoder = nn.Sequential(
            nn.Linear(latent_dim * categorical_dim, 96), nn.ReLU(), nn.Linear(96, width)
        )

    def forward(self, x, temperature):
        q = self.encoder(x).view(-1, self.latent_dim, self.categorical_dim)
        z = gumbel_softmax(q, temperature).flatten(1)
        return self.decoder(z), F.softmax(q, dim=-1)


def loss_function(recon_x, x, qy, categorical_dim):
    bce = F.binary_cross_entropy_with_logits(recon_x, x, reduction="sum") / x.shape[0]
    log_qy = torch.log(qy + 1e-20)
    kld = torch.sum(qy * (log_qy - math.log(1.0 / categorical_dim)), dim=-1).sum(dim=1).mean()
    return bce, kld


def make_data(n, width=40, prototypes=24):
    shapes = (torch.rand(prototypes, width) > 0.5).float()
    x = shapes[torch.randint(prototypes, (n,))]
    flip = (torch.rand(n, width) < 0.03).float()
    return (x - flip).abs()


def main():
    torch.manual_seed(0)
    data = make_data(2048)
    train, test = data[:1792], data[1792:]
    model = VAEGumbel(data.shape[1])
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    temperature = 1.0
    for epoch in range(1, 21):
        for rows in torch.randperm(len(train)).split(64):
            recon, qy = model(train[rows], temperature)
            bce, kld = loss_function(recon, train[rows], qy, model.categorical_dim)
            loss = bce + kld
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        temperature = max(0.5, math.exp(-0.03 * epoch))
        if epoch % 5 == 0:
            with torch.no_grad():
                recon, qy = model(test, temperature)
                bce, kld = loss_function(recon, test, qy, model.categorical_dim)
            print(f"epoch {epoch:2d}: BCE {bce:7.3f}  KLD {kld:7.3f}  ELBO {-(bce + kld):8.3f}")


if __name__ == "__main__":
    main()
