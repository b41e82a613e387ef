import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(14)
VOCAB, LENGTH = 12, 10


class PositionalEncoding(nn.Module):
    def __init__(self, dim, dropout=0.1, max_len=64):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, dim, 2).float() * (-math.log(10000.0) / dim))
        pe = torch.zeros(1, max_len, dim)
        pe[0, :, 0::2] = torch.sin(position * div_term)
        pe[0, :, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        x + self.pe[:, :x.size(1)]
        return self.dropout(x)


class Classifier(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.dim = dim
        self.embedding = nn.Embedding(VOCAB, dim)
        self.pos_encoder = PositionalEncoding(dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(dim, 2)

    def forward(self, tokens):
        x = self.embedding(tokens) * math.sqrt(self.dim)
        x = self.encoder(self.pos_encoder(x))
        return self.out(x.mean(dim=1))


def make(n):
    tokens = torch.randint(2, VOCAB, (n, LENGTH))
    order = torch.rand(n, LENGTH).argsort(dim=1)
    first, second = order[:, 0], order[:, 1]
    rows = torch.arange(n)
    tokens[rows, first] = 0
    tokens[rows, second] = 1
    return tokens, (first < second).long()


x, y = make(1200)
xv, yv = make(400)
model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(12):
    model.train()
    total = 0.0
    for i in range(0, 1200, 50):
        loss = F.cross_entropy(model(x[i:i + 50]), y[i:i + 50])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        acc = (model(xv).argmax(1) == yv).float().mean().item()
    print(f"epoch {epoch} loss {total / 24:.4f} val acc {acc:.3f}")
