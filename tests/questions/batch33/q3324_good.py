import math

import torch
from torch import nn

torch.manual_seed(0)

NTOKEN, LENGTH = 12, 10


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=64):
        super().__init__()
        pe = torch.zeros(max_len, d_model)
        pos = torch.arange(0, max_len).float().unsqueeze(1)
        div = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2], pe[:, 1::2] = torch.sin(pos * div), torch.cos(pos * div)
        self.register_buffer("pe", pe.unsqueeze(1))

    def forward(self, x):
        return x + self.pe[: x.size(0)]


class TransformerModel(nn.Module):
    def __init__(self, ninp=32, nhead=2, nhid=64):
        super().__init__()
        self.encoder = nn.Embedding(NTOKEN, ninp)
        self.pos = PositionalEncoding(ninp)
        layer = nn.TransformerEncoderLayer(ninp, nhead, nhid, dropout=0.0)
        self.transformer = nn.TransformerEncoder(layer, 1)
        self.decoder = nn.Linear(ninp, NTOKEN)
        self.ninp = ninp

    def square_mask(self, size):
        mask = torch.triu(torch.ones(size, size), diagonal=1)
        return mask.masked_fill(mask == 1, float("-inf"))

    def forward(self, src):
        mask = self.square_mask(len(src))
        h = self.pos(self.encoder(src) * math.sqrt(self.ninp))
        return self.decoder(self.transformer(h, mask))


STEP = torch.randperm(NTOKEN)


def text(n):
    seq = torch.zeros(LENGTH + 1, n, dtype=torch.long)
    seq[:2] = torch.randint(0, NTOKEN, (2, n))
    for t in range(2, LENGTH + 1):
        seq[t] = STEP[seq[t - 2]]
    return seq


@torch.no_grad()
def generate(model, seq, start=3):
    out = seq[:start]
    for _ in range(LENGTH + 1 - start):
        nxt = model(out)[-1].argmax(-1)
        out = torch.cat([out, nxt[None]])
    return (out[start:] == seq[start:]).float().mean().item()


def main():
    model = TransformerModel()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(300):
        model.train()
        seq = text(48)
        logits = model(seq[:-1])
        loss = nn.functional.cross_entropy(logits.reshape(-1, NTOKEN), seq[1:].reshape(-1))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        opt.step()
        if step % 75 == 0:
            print(step, f"loss {loss.item():.4f}")
    model.eval()
    print(f"loss {loss.item():.4f} generated tokens right {generate(model, text(200)):.3f}")


main()
