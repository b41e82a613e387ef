import torch
import torch.nn as nn
import torch.nn.functional as F


class ConvCompress(nn.Module):
    def __init__(self, dim, ratio):
        super().__init__()
        self.conv = nn.Conv1d(dim, dim, ratio, stride=ratio)

    def forward(self, mem):
        return self.conv(mem.transpose(1, 2)).transpose(1, 2)


class MemoryCompressedAttention(nn.Module):
    def __init__(self, dim, heads=4, compression_factor=2, causal=True):
        super().__init__()
        self.heads, self.cf, self.causal = heads, compression_factor, causal
        self.compress_fn = ConvCompress(dim, compression_factor)
        self.to_qkv = nn.Linear(dim, dim * 3, bias=False)
        self.to_out = nn.Linear(dim, dim)
        self.null_k = nn.Parameter(torch.zeros(1, 1, dim))
        self.null_v = nn.Parameter(torch.zeros(1, 1, dim))

    def split(self, t):
        b, n, d = t.shape
        return t.view(b, n, self.heads, d // self.heads).transpose(1, 2)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.to_qkv(x).chunk(3, dim=-1)
        k, v = self.compress_fn(k), self.compress_fn(v)
        k = torch.cat([self.null_k.expand(b, -1, -1), k], dim=1)
        v = torch.cat([self.null_v.expand(b, -1, -1), v], dim=1)
        q, k, v = map(self.split, (q, k, v))
        dots = q @ k.transpose(-1, -2) * (d // self.heads) ** -0.5
        if self.causal:
            mask_value = float("-inf")
            block_end = torch.arange(k.shape[2]) * self.cf - 1
            mask = block_end[None, :] > torch.arange(t)[:, None]
            dots = dots.masked_fill(mask[None, None], mask_value)
        out = dots.softmax(dim=-1) @ v
        return self.to_out(out.transpose(1, 2).reshape(b, t, d))


class Summarizer(nn.Module):
    def __init__(self, vocab=16, dim=32, length=16):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(torch.randn(1, length, dim) * 0.02)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = MemoryCompressedAttention(dim)
        self.ff = nn.Sequential(nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, dim))
        self.out = nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.tok(ids) + self.pos[:, : ids.shape[1]]
        x = x + self.attn(self.norm1(x))
        return self.out(x + self.ff(self.norm2(x)))


def documents(n, vocab=16, length=16):
    first = torch.randint(0, vocab, (n, 1))
    jump = torch.randint(1, 4, (n, 1))
    return (first + jump * torch.arange(length + 1)) % vocab


torch.manual_seed(35)
model = Summarizer()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(1, 201):
    ids = documents(48)
    logits = model(ids[:, :-1])
    loss = F.cross_entropy(logits.transpose(1, 2), ids[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 40 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
