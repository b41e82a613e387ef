import torch
import torch.nn as nn
import torch.nn.functional as F


class Quantizer(nn.Module):
    """Picks one of the codebook's entries for each frame by a Gumbel softmax."""

    def __init__(self, width, entries, out):
        super().__init__()
        self.scores = nn.Linear(width, entries)
        self.entries = nn.Parameter(torch.rand(entries, out))

    def forward(self, x):
        logits = self.scores(x)
        probs = logits.softmax(-1).flatten(0, 1).mean(0)
        diversity = 1 + (probs * (probs + 1e-7).log()).sum() / torch.log(torch.tensor(float(len(probs))))
        choice = F.gumbel_softmax(logits, tau=0.7, hard=True)
        return choice @ self.entries, diversity


class Pretraining(nn.Module):
    def __init__(self, features=16, width=48, entries=24, out=16):
        super().__init__()
        self.extract = nn.Sequential(nn.Linear(features, width), nn.GELU())
        self.mask_emb = nn.Parameter(torch.rand(width))
        self.context = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.project = nn.Linear(2 * width, out)
        self.quantizer = Quantizer(width, entries, out)

    def forward(self, x, mask):
        frames = self.extract(x)
        targets, diversity = self.quantizer(frames)
        seen = torch.where(mask[..., None], self.mask_emb, frames)
        context = self.project(self.context(seen)[0])
        context, targets = context[mask], targets[mask]
        logits = F.cosine_similarity(context[:, None], targets[None], dim=-1) / 0.1
        same = (targets[:, None] == targets[None]).all(-1)
        same.fill_diagonal_(False)
        logits = logits.masked_fill(same, -1e4)
        labels = torch.arange(len(logits))
        return F.cross_entropy(logits, labels), diversity


def make_batch(n, length, sounds, generator):
    start = torch.randint(0, 8, (n, 1), generator=generator)
    which = (start + torch.arange(length) // 2) % 8
    return sounds[which] + 0.2 * torch.randn(n, length, 16, generator=generator)


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    sounds = torch.randn(8, 16, generator=generator)
    model = Pretraining()
    before = model.quantizer.entries.detach().clone()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(161):
        x = make_batch(12, 20, sounds, generator)
        mask = torch.rand(12, 20, generator=generator) < 0.3
        contrastive, diversity = model(x, mask)
        loss = contrastive + 0.1 * diversity
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            moved = (model.quantizer.entries - before).norm().item()
            print(f"step {step}: contrastive loss {contrastive.item():.3f}  entries moved by {moved:.3f}")


if __name__ == "__main__":
    main()
