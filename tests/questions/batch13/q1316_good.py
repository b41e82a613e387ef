import torch
import torch.nn as nn
import torch.nn.functional as F


class VectorQuantizer(nn.Module):
    def __init__(self, codes=32, width=8, beta=0.25):
        super().__init__()
        self.beta = beta
        self.embedding = nn.Embedding(codes, width)
        self.embedding.weight.data.uniform_(-1.0 / codes, 1.0 / codes)

    def forward(self, z):
        nearest = torch.cdist(z, self.embedding.weight).argmin(1)
        z_q = self.embedding(nearest)
        loss = self.beta * torch.mean((z_q.detach() - z) ** 2) + torch.mean((z_q - z.detach()) ** 2)
        return z + (z_q - z).detach(), loss, nearest


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 8))
        self.quantize = VectorQuantizer()
        self.generator = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 24))

    def forward(self, x):
        z_q, loss, nearest = self.quantize(self.encoder(x))
        return self.generator(z_q), loss, nearest


def make_batch(n, generator):
    kinds = torch.randn(20, 24, generator=torch.Generator().manual_seed(2))
    which = torch.randint(20, (n,), generator=generator)
    return kinds[which] + 0.2 * torch.randn(n, 24, generator=generator)


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model = AutoEncoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(801):
        x = make_batch(128, generator)
        recon, vq_loss, nearest = model(x)
        recon_loss = F.l1_loss(recon, x)
        if step % 200 == 0:
            book = torch.autograd.grad(vq_loss, model.quantize.embedding.weight, retain_graph=True)[0]
            enc = torch.autograd.grad(vq_loss, model.encoder[2].bias, retain_graph=True)[0]
            ratio = (enc.norm() / book.sum(0).norm()).item()
        optimizer.zero_grad()
        (recon_loss + vq_loss).backward()
        optimizer.step()
        if step % 200 == 0:
            print(
                f"step {step}: recon {recon_loss.item():.4f}  codes {nearest.unique().numel()}  pull encoder / codes {ratio:.2f}"
            )


if __name__ == "__main__":
    main()
