import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
VOCAB, LEN, DIM, HEADS = 12, 16, 32, 2


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn = nn.Linear(DIM, 3 * DIM)
        self.c_proj = nn.Linear(DIM, DIM)
        self.register_buffer("causal", torch.tril(torch.ones(LEN, LEN, dtype=torch.bool)))

    def forward(self, x, attention_mask):
        b, t, _ = x.shape
        query, key, value = self.c_attn(x).view(b, t, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        causal_mask = self.causal[:t, :t]
        attention_mask = attention_mask.expand(b, 1, t, t)
        attention_mask = attention_mask.masked_fill(~causal_mask, torch.finfo(query.dtype).min)
        out = F.scaled_dot_product_attention(query, key, value, attn_mask=attention_mask)
        return self.c_proj(out.transpose(1, 2).reshape(b, t, DIM))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.attn = Attention()
        self.mlp = nn.Sequential(nn.Linear(DIM, 64), nn.GELU(), nn.Linear(64, DIM))

    def forward(self, x, attention_mask):
        x = x + self.attn(self.ln_1(x), attention_mask)
        return x + self.mlp(self.ln_2(x))


class QWen(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCAB, DIM), nn.Embedding(LEN, DIM)
        self.h = nn.ModuleList([Block(), Block()])
        self.lm_head = nn.Linear(DIM, VOCAB)

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.size(1)))
        attention_mask = torch.zeros(ids.size(0), 1, 1, ids.size(1))
        for block in self.h:
            x = block(x, attention_mask)
        return self.lm_head(x)


def make_batch(n):
    start, stride = torch.randint(0, VOCAB, (n, 1)), torch.randint(1, 4, (n, 1))
    ids = (start + stride * torch.arange(LEN)) % VOCAB
    noise = torch.rand(n, LEN) < 0.2
    return torch.where(noise, torch.randint(0, VOCAB, (n, LEN)), ids)


model = QWen()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(1, 401):
    ids = make_batch(64)
    logits = model(ids)
    loss = F.cross_entropy(logits[:, :-1].reshape(-1, VOCAB), ids[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 80 == 0:
        with torch.no_grad():
            test = make_batch(256)
            guess = torch.stack([model(test[:, :t])[:, -1].argmax(1) for t in range(4, LEN)], 1)
        print(
            f"step {step}  loss {loss.item():.4f}  next token accuracy {(guess == test[:, 4:]).float().mean():.3f}"
        )
