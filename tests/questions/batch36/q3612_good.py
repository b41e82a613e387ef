import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(11)
vocab_size, block_size, n_embd, n_head = 8, 12, 32, 2


class Head(nn.Module):
    def __init__(self, head_size):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

    def forward(self, x):
        B, T, C = x.shape
        k, q = self.key(x), self.query(x)
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        wei = F.softmax(wei, dim=-1)
        return wei @ self.value(x)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleList([Head(n_embd // n_head) for _ in range(n_head)])
        self.proj = nn.Linear(n_embd, n_embd)
        self.ffwd = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.ReLU(), nn.Linear(4 * n_embd, n_embd))
        self.ln1, self.ln2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)

    def forward(self, x):
        h = self.ln1(x)
        x = x + self.proj(torch.cat([head(h) for head in self.heads], dim=-1))
        return x + self.ffwd(self.ln2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(vocab_size, n_embd)
        self.pos = nn.Embedding(block_size, n_embd)
        self.blocks = nn.Sequential(Block(), Block())
        self.lm_head = nn.Linear(n_embd, vocab_size)

    def forward(self, idx):
        x = self.tok(idx) + self.pos(torch.arange(idx.shape[1]))
        return self.lm_head(self.blocks(x))


P = torch.softmax(1.5 * torch.randn(vocab_size, vocab_size), dim=-1)
text = [0]
for _ in range(20000):
    text.append(torch.multinomial(P[text[-1]], 1).item())
data = torch.tensor(text)


def get_batch(lo, hi, n=64):
    ix = torch.randint(lo, hi - block_size - 1, (n,))
    return (torch.stack([data[i:i + block_size] for i in ix.tolist()]),
            torch.stack([data[i + 1:i + block_size + 1] for i in ix.tolist()]))


model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for it in range(301):
    xb, yb = get_batch(0, 18000)
    loss = F.cross_entropy(model(xb).flatten(0, 1), yb.flatten())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if it % 100 == 0:
        with torch.no_grad():
            xv, yv = get_batch(18000, 20000, 128)
            val = F.cross_entropy(model(xv).flatten(0, 1), yv.flatten()).item()
            gen = sum(F.cross_entropy(model(xv[:, :t])[:, -1], yv[:, t - 1]).item() for t in range(1, block_size + 1))
        print(f"step {it} train loss {loss.item():.3f} val loss {val:.3f} one-by-one loss {gen / block_size:.3f}")
