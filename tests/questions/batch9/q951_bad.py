import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
LENGTH, DIM = 12, 32


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=256):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[: x.size(0)]


class AttnModule(nn.Module):
    def __init__(self, hidden=DIM, layers=2):
        super().__init__()
        self.pos_encoder = PositionalEncoding(hidden)
        layer = nn.TransformerEncoderLayer(hidden, 4, 64, dropout=0.0, batch_first=True)
        self.module = nn.TransformerEncoder(layer, layers)

    def forward(self, x):
        return self.module(self.pos_encoder(x))


class ConvTransModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(4, DIM, kernel_size=1)
        self.attn = AttnModule()
        self.head = nn.Linear(DIM, LENGTH)

    def forward(self, seq):
        x = F.relu(self.conv(seq.transpose(1, 2)))
        x = self.attn(x.transpose(1, 2))
        return self.head(x.mean(dim=1))


def make_batch(n):
    bases = torch.randint(0, 3, (n, LENGTH))
    where = torch.randint(0, LENGTH, (n,))
    bases[torch.arange(n), where] = 3
    return F.one_hot(bases, 4).float(), where


model = ConvTransModel()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(1, 501):
    seq, where = make_batch(64)
    logits = model(seq)
    loss = F.cross_entropy(logits, where)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        acc = (logits.argmax(1) == where).float().mean()
        print(f"step {step}  loss {loss.item():.4f}  accuracy {acc:.3f}")
