import math

import torch
import torch.nn as nn
import torch.nn.functional as F

SRC_PAD = 1
TRG_PAD, SOS, EOS = 0, 1, 10
WORDS = 8


class Attention(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(dim, dim) for _ in range(4))

    def split(self, x):
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, memory, mask):
        q, k, v = self.split(self.q(x)), self.split(self.k(memory)), self.split(self.v(memory))
        score = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
        score = score.masked_fill(mask == 0, -10000)
        return self.out((score.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, dim, decoder):
        super().__init__()
        self.own = Attention(dim)
        self.cross = Attention(dim) if decoder else None
        self.ffn = nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(3))

    def forward(self, x, mask, memory=None, memory_mask=None):
        x = self.norms[0](x + self.own(x, x, mask))
        if self.cross is not None:
            x = self.norms[1](x + self.cross(x, memory, memory_mask))
        return self.norms[2](x + self.ffn(x))


class Transformer(nn.Module):
    def __init__(self, src_pad_idx, trg_pad_idx, dim=32, max_len=16):
        super().__init__()
        self.src_pad_idx, self.trg_pad_idx = src_pad_idx, trg_pad_idx
        self.src_emb = nn.Embedding(WORDS + 3, dim)
        self.trg_emb = nn.Embedding(WORDS + 3, dim)
        self.pos = nn.Embedding(max_len, dim)
        self.encoder = Block(dim, decoder=False)
        self.decoder = nn.ModuleList(Block(dim, decoder=True) for _ in range(2))
        self.head = nn.Linear(dim, WORDS + 3)

    def make_src_mask(self, src):
        return (src != self.src_pad_idx)[:, None, None, :]

    def make_trg_mask(self, trg):
        pad = (trg != self.src_pad_idx)[:, None, None, :]
        n = trg.shape[1]
        return pad & torch.tril(torch.ones(n, n, dtype=torch.bool))

    def forward(self, src, trg):
        src_mask, trg_mask = self.make_src_mask(src), self.make_trg_mask(trg)
        memory = self.encoder(self.src_emb(src) + self.pos.weight[: src.shape[1]], src_mask)
        x = self.trg_emb(trg) + self.pos.weight[: trg.shape[1]]
        for block in self.decoder:
            x = block(x, trg_mask, memory, src_mask)
        return self.head(x)


def sentences(n, generator, length=5):
    """The target says the words of the source, from the front or from the back."""
    src = torch.randint(2, WORDS + 2, (n, length), generator=generator)
    src = torch.cat([src, torch.full((n, 2), SRC_PAD)], dim=1)
    trg = torch.full((n, length + 3), TRG_PAD)
    for i in range(n):
        words = src[i, :length].tolist()
        if torch.rand(1, generator=generator) < 0.5:
            words.reverse()
        trg[i, : length + 2] = torch.tensor([SOS, *words, EOS])
    return src, trg


def first_word(model, src, trg):
    with torch.no_grad():
        whole = (model(src, trg[:, :-1])[:, 0].argmax(1) == trg[:, 1]).float().mean().item()
        alone = (model(src, trg[:, :1])[:, 0].argmax(1) == trg[:, 1]).float().mean().item()
    return whole, alone


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    src, trg = sentences(2000, generator)
    test_src, test_trg = sentences(500, generator)
    model = Transformer(SRC_PAD, TRG_PAD)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(8):
        total = 0.0
        for rows in torch.randperm(len(src), generator=generator).split(64):
            out = model(src[rows], trg[rows, :-1])
            loss = F.cross_entropy(out.flatten(0, 1), trg[rows, 1:].flatten(), ignore_index=TRG_PAD)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows)
        whole, alone = first_word(model, test_src, test_trg)
        print(f"epoch {epoch}: loss {total / len(src):.4f}  first word right {whole:.2f}, without the rest of the target {alone:.2f}")


if __name__ == "__main__":
    main()
