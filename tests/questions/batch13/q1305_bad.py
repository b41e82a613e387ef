import torch
import torch.nn as nn
import torch.nn.functional as F


class VectorQuantizer(nn.Module):
    def __init__(self, codes, width):
        super().__init__()
        self.codebook = nn.Embedding(codes, width)
        nn.init.uniform_(self.codebook.weight, -1 / codes, 1 / codes)

    def forward(self, x):
        distance = torch.cdist(x, self.codebook.weight)
        indices = distance.argmin(1)
        z = self.codebook(indices)
        z_q = x + (z - x).detach()
        return z_q, z, x, indices


class LatentActionModel(nn.Module):
    """Squeezes the change between two frames into one code and predicts the second frame from it."""

    def __init__(self, frame=12, width=6, codes=16):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(2 * frame, 48), nn.ReLU(), nn.Linear(48, width))
        self.vq = VectorQuantizer(codes, width)
        self.decoder = nn.Sequential(nn.Linear(frame + width, 64), nn.ReLU(), nn.Linear(64, frame))

    def forward(self, now, then):
        z_q, code, z_e, indices = self.vq(self.encoder(torch.cat([now, then], 1)))
        recon = self.decoder(torch.cat([now, z_q], 1))
        return recon, z_q, code, z_e, indices


def make_batch(n, moves, generator):
    now = torch.randn(n, 12, generator=generator)
    action = torch.randint(len(moves), (n,), generator=generator)
    return now, now + moves[action] + 0.05 * torch.randn(n, 12, generator=generator)


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    moves = 2 * torch.randn(8, 12, generator=generator)
    model = LatentActionModel()
    start = model.vq.codebook.weight.detach().clone()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(801):
        now, then = make_batch(128, moves, generator)
        recon, z_q, code, z_e, indices = model(now, then)
        recon_loss = F.mse_loss(recon, then)
        codebook_loss = F.mse_loss(z_q, z_e.detach())
        commit_loss = F.mse_loss(z_e, code.detach())
        loss = recon_loss + codebook_loss + 0.25 * commit_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 200 == 0:
            moved = (model.vq.codebook.weight.detach() - start).abs().max().item()
            used = indices.unique().numel()
            print(
                f"step {step}: recon {recon_loss.item():.4f}  codes in use {used}  codebook moved {moved:.4f}"
            )


if __name__ == "__main__":
    main()
