import torch
from torch import nn

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, q, k, v):
        b, n, d = q.shape
        q, k, v = self.qkv(self.norm(q)).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        weights = torch.softmax(q @ k.transpose(-1, -2) / (d // self.heads) ** 0.5, -1)
        return self.out((weights @ v).transpose(1, 2).reshape(b, n, d)), weights


class FeedForward(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(
            nn.LayerNorm(dim), nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim)
        )

    def forward(self, x):
        return self.net(x)


class Transformer(nn.Module):
    def __init__(self, dim, heads, depth):
        super().__init__()
        self.layers = nn.ModuleList([Attention(dim, heads) for _ in range(depth)])
        self.ffn_layers = nn.ModuleList([FeedForward(dim) for _ in range(depth)])

    def forward(self, x):
        for attn, ffn in zip(self.layers, self.ffn_layers, strict=True):
            x, _ = attn(x, x, x)
            x = x + x
            x = ffn(x) + x
        return x


class BitNetTransformer(nn.Module):
    def __init__(self, num_tokens, dim=32, heads=4, depth=3, max_len=8):
        super().__init__()
        self.emb = nn.Embedding(num_tokens, dim)
        self.pos = nn.Parameter(torch.randn(max_len, dim))
        self.transformer = Transformer(dim, heads, depth)
        self.to_logits = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, num_tokens))

    def forward(self, tokens):
        return self.to_logits(self.transformer(self.emb(tokens) + self.pos))


model = BitNetTransformer(12)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
window = []
for step in range(100):
    tokens = torch.randint(0, 12, (64, 8))
    targets = torch.where(tokens % 2 == 0, tokens, tokens.roll(1, 1))
    loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    window.append(loss.item())
    if (step + 1) % 20 == 0:
        print(f"step {step + 1}: loss {sum(window) / len(window):.4f}")
        window = []
