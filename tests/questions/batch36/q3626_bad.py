import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)
VOCAB, LENGTH, PERIOD, DIM = 12, 18, 6, 64


class Attention(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.heads = heads
        self.to_qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.to_qkv(x).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        mask = torch.ones(n, n, dtype=torch.bool).triu(1)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.to_out(out.transpose(1, 2).reshape(b, n, d))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(VOCAB, DIM)
        self.position = nn.Embedding(LENGTH, DIM)
        self.norm1 = nn.LayerNorm(DIM)
        self.attn = Attention(DIM)
        self.norm2 = nn.LayerNorm(DIM)
        self.ff = nn.Sequential(nn.Linear(DIM, 2 * DIM), nn.GELU(), nn.Linear(2 * DIM, DIM))
        self.to_logits = nn.Linear(DIM, VOCAB)

    def forward(self, tokens):
        x = self.token(tokens) + self.position(torch.arange(tokens.size(1)))
        x = x + self.attn(self.norm1(x))
        x = x + self.ff(self.norm2(x))
        return self.to_logits(x)


def batch(size):
    return torch.randint(0, VOCAB, (size, PERIOD)).repeat(1, LENGTH // PERIOD)


model = Decoder()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(1, 251):
    seq = batch(32)
    logits = model(seq[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, VOCAB), seq[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step} loss {loss.item():.4f}")

model.eval()
truth = batch(100)
generated = truth[:, :PERIOD]
with torch.no_grad():
    while generated.size(1) < LENGTH:
        following = model(generated)[:, -1].argmax(-1, keepdim=True)
        generated = torch.cat([generated, following], dim=1)
right = (generated[:, PERIOD:] == truth[:, PERIOD:]).float().mean().item()
print(f"generated tokens right {right:.3f}")
