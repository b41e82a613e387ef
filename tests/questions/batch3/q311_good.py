import math

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(7)
PAD = 0


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_head):
        super().__init__()
        self.n_head = n_head
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_concat = nn.Linear(d_model, d_model)

    def split(self, tensor):
        batch, length, d_model = tensor.shape
        return tensor.view(batch, length, self.n_head, d_model // self.n_head).transpose(1, 2)

    def forward(self, x, mask):
        q, k, v = self.split(self.w_q(x)), self.split(self.w_k(x)), self.split(self.w_v(x))
        score = q @ k.transpose(2, 3) / math.sqrt(q.size(-1))
        score = score.masked_fill(~mask, float("-inf"))
        out = torch.softmax(score, dim=-1) @ v
        return self.w_concat(out.transpose(1, 2).flatten(2))


class DecoderLayer(nn.Module):
    def __init__(self, d_model, n_head):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_head)
        self.norm1 = nn.LayerNorm(d_model)
        self.ffn = nn.Sequential(nn.Linear(d_model, 64), nn.ReLU(), nn.Linear(64, d_model))
        self.norm2 = nn.LayerNorm(d_model)

    def forward(self, x, mask):
        x = self.norm1(x + self.attention(x, mask))
        return self.norm2(x + self.ffn(x))


class Transformer(nn.Module):
    def __init__(self, vocab, d_model=32, n_head=4, n_layers=2):
        super().__init__()
        self.embedding = nn.Embedding(vocab, d_model)
        self.position = nn.Parameter(torch.randn(16, d_model) * 0.1)
        self.layers = nn.ModuleList(DecoderLayer(d_model, n_head) for _ in range(n_layers))
        self.linear = nn.Linear(d_model, vocab)

    def make_mask(self, ids):
        pad_mask = (ids != PAD).unsqueeze(1).unsqueeze(2)
        length = ids.size(1)
        sub_mask = torch.tril(torch.ones(length, length, dtype=torch.bool))
        return pad_mask & sub_mask

    def forward(self, ids):
        mask = self.make_mask(ids)
        x = self.embedding(ids) + self.position[: ids.size(1)]
        for layer in self.layers:
            x = layer(x, mask)
        return self.linear(x)


def make_batch(size=32, length=12, vocab=12):
    ids = torch.zeros(size, length + 1, dtype=torch.long)
    for row in ids:
        n = int(torch.randint(5, length + 2, ()))
        start = int(torch.randint(1, vocab, ()))
        row[:n] = (start - 1 + torch.arange(n) * 2) % (vocab - 1) + 1
    return ids[:, :-1], ids[:, 1:]


model = Transformer(12)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(120):
    src, trg = make_batch()
    output = model(src)
    loss = F.cross_entropy(output.flatten(0, 1), trg.flatten(), ignore_index=PAD)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
