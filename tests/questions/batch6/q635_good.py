import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class MHAPyTorchScaledDotProduct(nn.Module):
    def __init__(self, d_in, num_heads, context_length):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, d_in // num_heads
        self.qkv = nn.Linear(d_in, 3 * d_in)
        self.proj = nn.Linear(d_in, d_in)
        mask = torch.triu(torch.ones(context_length, context_length), diagonal=1).bool()
        self.register_buffer("mask", mask)

    def forward(self, x):
        b, tokens, d = x.shape
        qkv = self.qkv(x).view(b, tokens, 3, self.num_heads, self.head_dim).permute(2, 0, 3, 1, 4)
        queries, keys, values = qkv
        attn_mask = ~self.mask[:tokens, :tokens]
        context = F.scaled_dot_product_attention(queries, keys, values, attn_mask=attn_mask)
        return self.proj(context.transpose(1, 2).reshape(b, tokens, d))


class TinyGPT(nn.Module):
    def __init__(self, vocab=12, dim=32, context_length=16):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(context_length, dim)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = MHAPyTorchScaledDotProduct(dim, 4, context_length)
        self.ff = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        self.head = nn.Linear(dim, vocab)

    def forward(self, tokens):
        x = self.tok(tokens) + self.pos(torch.arange(tokens.size(1)))
        x = x + self.attn(self.norm1(x))
        x = x + self.ff(self.norm2(x))
        return self.head(x)


def sequences(n):
    start, stride = torch.randint(0, 12, (n, 1)), torch.randint(1, 4, (n, 1))
    clean = (start + stride * torch.arange(17)) % 12
    noise = torch.rand(n, 17) < 0.15
    return torch.where(noise, torch.randint(0, 12, (n, 17)), clean)


@torch.no_grad()
def generation_accuracy(model):
    start, stride = torch.randint(0, 12, (200, 1)), torch.randint(1, 4, (200, 1))
    truth = (start + stride * torch.arange(16)) % 12
    tokens = truth[:, :6]
    for _ in range(10):
        tokens = torch.cat([tokens, model(tokens)[:, -1].argmax(-1, keepdim=True)], 1)
    return (tokens[:, 6:] == truth[:, 6:]).float().mean().item()


model = TinyGPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(1, 301):
    batch = sequences(48)
    logits = model(batch[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 0:
        print(f"step {step}: loss {loss.item():.4f}, generation accuracy {generation_accuracy(model):.3f}")
