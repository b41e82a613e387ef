import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.heads = heads
        self.to_qkv = nn.Linear(dim, dim * 3, bias=False)
        self.to_out = nn.Linear(dim, dim, bias=False)

    def forward(self, x, mask):
        b, n, d = x.shape
        q, k, v = (t.view(b, n, self.heads, -1).transpose(1, 2) for t in self.to_qkv(x).chunk(3, dim=-1))
        sim = q @ k.transpose(-1, -2) / (d / self.heads) ** 0.5
        sim = sim.masked_fill(~mask[:, None], float("-inf"))
        attn = sim.softmax(dim=-1)
        return self.to_out((attn @ v).transpose(1, 2).reshape(b, n, d))


class Block(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.norm1, self.attn = nn.LayerNorm(dim), Attention(dim)
        self.norm2, self.ff = nn.LayerNorm(dim), nn.Sequential(nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, dim))

    def forward(self, x, mask):
        x = x + self.attn(self.norm1(x), mask)
        return x + self.ff(self.norm2(x))


class Transformer(nn.Module):
    def __init__(self, tokens=20, dim=32, depth=2):
        super().__init__()
        self.embed = nn.Embedding(tokens, dim)
        self.layers = nn.ModuleList([Block(dim) for _ in range(depth)])
        self.head = nn.Linear(dim, tokens)

    def forward(self, ids, mask):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(x)


def make_batch(count=16, length=14):
    ids = torch.randint(1, 20, (count, length))
    lengths = torch.randint(6, length + 1, (count,))
    valid = torch.arange(length) < lengths[:, None]
    return ids * valid, valid


def pair_mask(valid):
    return valid[:, :, None] & valid[:, None, :]


def main():
    model = Transformer()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(80):
        ids, valid = make_batch()
        logits = model(ids, pair_mask(valid))
        loss = F.cross_entropy(logits[valid], ids[valid])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0 or step == 79:
            print(step, loss.item())


main()
