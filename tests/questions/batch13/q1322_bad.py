import torch
import torch.nn as nn
import torch.nn.functional as F


class VectorQuantizer(nn.Module):
    def __init__(self, n_e, e_dim, beta):
        super().__init__()
        self.beta = beta
        self.embedding = nn.Embedding(n_e, e_dim)
        self.embedding.weight.data.uniform_(-1.0 / n_e, 1.0 / n_e)

    def forward(self, z):
        index = torch.cdist(z, self.embedding.weight).argmin(1)
        z_q = self.embedding(index)
        # beta keeps the encoder from running away from the codebook, gently
        loss = torch.mean((z_q.detach() - z) ** 2) + self.beta * torch.mean((z_q - z.detach()) ** 2)
        return z + (z_q - z).detach(), loss, index


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 4))
        self.quantize = VectorQuantizer(32, 4, beta=0.1)
        self.decoder = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 12))

    def forward(self, x):
        z = self.encoder(x)
        z_q, loss, index = self.quantize(z)
        return self.decoder(z_q), loss, index, z


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    centres = 2 * torch.randn(20, 12, generator=generator)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(501):
        which = torch.randint(0, 20, (128,), generator=generator)
        x = centres[which] + 0.1 * torch.randn(128, 12, generator=generator)
        out, vq_loss, index, z = model(x)
        recon = F.mse_loss(out, x)
        optimizer.zero_grad()
        (recon + vq_loss).backward()
        optimizer.step()
        if step % 100 == 0:
            print(
                f"step {step}: reconstruction {recon.item():.3f}  entries in use {len(index.unique())}"
                f"  spread of the latents {z.std().item():.3f}"
            )


if __name__ == "__main__":
    main()
