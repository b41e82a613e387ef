import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
VOCAB, T = 16, 24


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, block_size, dropout=0.0):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(block_size, block_size), diagonal=1))

    def forward(self, x):
        b, num_tokens, _ = x.shape
        keys, queries, values = self.W_key(x), self.W_query(x), self.W_value(x)
        attn_scores = queries @ keys.transpose(1, 2)
        attn_scores = attn_scores.masked_fill(self.mask.bool()[:num_tokens, :num_tokens], -torch.inf)
        attn_weights = torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=1)
        return self.dropout(attn_weights) @ values


class Block(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn = CausalAttention(d, d, T)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        x = x + self.attn(self.n1(x))
        return x + self.mlp(self.n2(x))


class TinyGPT(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.tok, self.pos = nn.Embedding(VOCAB, d), nn.Embedding(T, d)
        self.blocks = nn.Sequential(Block(d), Block(d))
        self.head = nn.Linear(d, VOCAB)

    def forward(self, idx):
        x = self.tok(idx) + self.pos(torch.arange(idx.shape[1]))
        return self.head(self.blocks(x))


def batch(n=32):
    period = torch.randint(VOCAB, (n, 6))
    seq = period.repeat(1, T // 6 + 1)[:, :T + 1]
    return seq[:, :-1], seq[:, 1:]


model = TinyGPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(400):
    x, y = batch()
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 80 == 79:
        model.eval()
        with torch.no_grad():
            x, y = batch(64)
            out = x[:, :12]
            for _ in range(8):
                out = torch.cat([out, model(out)[:, -1].argmax(-1, keepdim=True)], dim=1)
            acc = (out[:, 12:20] == x[:, 12:20]).float().mean().item()
        model.train()
        print(f"step {step + 1}  loss {loss.item():.3f}  generated tokens right {acc:.3f}")
