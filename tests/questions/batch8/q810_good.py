import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)

SEQ, VALUES = 12, 10


class MultiHeadAttention(nn.Module):
    def __init__(self, hidden=64, heads=4):
        super().__init__()
        self.heads, self.dim = heads, hidden // heads
        self.qkv = nn.Linear(hidden, 3 * hidden)
        self.o = nn.Linear(hidden, hidden)

    def scaled_dot_product(self, q, k, v):
        scores = q @ k.transpose(-1, -2) / math.sqrt(self.dim)
        return F.softmax(scores, dim=-1) @ v

    def forward(self, x):
        batch, seq_len, hidden = x.shape
        qkv = self.qkv(x).reshape(batch, seq_len, self.heads, 3 * self.dim).permute(0, 2, 1, 3)
        q, k, v = qkv.chunk(3, dim=-1)
        values = self.scaled_dot_product(q, k, v)
        values = values.permute(0, 2, 1, 3).reshape(batch, seq_len, hidden)
        return self.o(values)


class PointerModel(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.value = nn.Embedding(VALUES, hidden)
        self.pointer = nn.Embedding(SEQ, hidden)
        self.place = nn.Embedding(SEQ, hidden)
        self.mha = MultiHeadAttention(hidden)
        self.norm = nn.LayerNorm(hidden)
        self.ff = nn.Sequential(nn.Linear(hidden, 128), nn.ReLU(), nn.Linear(128, hidden))
        self.out = nn.Linear(hidden, VALUES)

    def forward(self, values, pointers):
        x = self.value(values) + self.pointer(pointers) + self.place(torch.arange(SEQ))
        x = self.norm(x + self.mha(x))
        return self.out(x + self.ff(x))


def sample(n=64):
    values = torch.randint(0, VALUES, (n, SEQ))
    pointers = torch.randint(0, SEQ, (n, SEQ))
    return values, pointers, values.gather(1, pointers)


def main():
    model = PointerModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(1, 601):
        values, pointers, target = sample()
        logits = model(values, pointers)
        loss = F.cross_entropy(logits.reshape(-1, VALUES), target.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            accuracy = (logits.argmax(-1) == target).float().mean().item()
            print(f"step {step}: loss {loss.item():.3f} accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
