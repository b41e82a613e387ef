import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
VOCAB, T, DIM, HEADS = 20, 24, 64, 4


class Rotary(nn.Module):
    def __init__(self, head_dim, base=10000.0):
        super().__init__()
        freq = base ** (-torch.arange(0, head_dim, 2).float() / head_dim)
        self.register_buffer("freq", freq)

    def rotate(self, x):
        n = x.shape[-2]
        angle = torch.outer(torch.arange(n).float(), self.freq)
        cos = torch.cat([angle.cos(), angle.cos()], -1)
        sin = torch.cat([angle.sin(), angle.sin()], -1)
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    def forward(self, q, k):
        return self.rotate(q), self.rotate(k)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.in_proj = nn.Linear(DIM, 3 * DIM, bias=False)
        self.out_proj = nn.Linear(DIM, DIM, bias=False)
        self.rotary = Rotary(DIM // HEADS)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.in_proj(x).chunk(3, -1)
        q = q.view(b, t, HEADS, DIM // HEADS)
        k = k.view(b, t, HEADS, DIM // HEADS)
        v = v.view(b, t, HEADS, DIM // HEADS)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        q, k = self.rotary(q, k)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out_proj(out.transpose(1, 2).reshape(b, t, DIM))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.attn = Attention()
        self.mlp = nn.Sequential(nn.Linear(DIM, 4 * DIM), nn.GELU(), nn.Linear(4 * DIM, DIM))

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.blocks = nn.ModuleList([Block() for _ in range(2)])
        self.norm = nn.LayerNorm(DIM)
        self.head = nn.Linear(DIM, VOCAB, bias=False)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


gen = torch.Generator().manual_seed(5)


def batch(n):
    seq = [torch.randint(0, VOCAB, (n,), generator=gen) for _ in range(4)]
    while len(seq) < T + 1:
        nxt = (seq[-4] + 3) % VOCAB
        stray = torch.randint(0, VOCAB, (n,), generator=gen)
        keep = torch.rand(n, generator=gen) < 0.9
        seq.append(torch.where(keep, nxt, stray))
    return torch.stack(seq, 1)


model = LM()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for step in range(500):
    ids = batch(32)
    logits = model(ids[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, VOCAB), ids[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 100 == 99:
        print(f"step {step + 1}: loss {loss.item():.3f}")

model.eval()
with torch.no_grad():
    ids = batch(500)
    logits = model(ids[:, :-1])[:, 8:]
    gold = ids[:, 9:]
    val = F.cross_entropy(logits.reshape(-1, VOCAB), gold.reshape(-1)).item()
    acc = (logits.argmax(-1) == gold).float().mean().item()
print(f"validation loss {val:.3f}  perplexity {math.exp(val):.2f}  next token accuracy {acc:.3f}")
