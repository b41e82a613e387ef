import torch
import torch.nn as nn
import torch.nn.functional as F


class AttentionBlock(nn.Module):
    """Self-attention over the cells of a feature map."""

    def __init__(self, width, heads, d_k):
        super().__init__()
        self.heads, self.d_k = heads, d_k
        self.norm = nn.LayerNorm(width)
        self.projection = nn.Linear(width, heads * d_k * 3)
        self.output = nn.Linear(heads * d_k, width)

    def forward(self, x):
        batch, cells, _ = x.shape
        qkv = self.projection(self.norm(x)).view(batch, cells, self.heads, 3 * self.d_k)
        q, k, v = qkv.chunk(3, dim=-1)
        attn = torch.einsum("bihd,bjhd->bijh", q, k) * self.d_k**-0.5
        attn = attn.softmax(dim=2)
        found = torch.einsum("bijh,bjhd->bihd", attn, v)
        return x + self.output(found.reshape(batch, cells, -1))


class Net(nn.Module):
    def __init__(self, keys, width=48):
        super().__init__()
        self.key = nn.Embedding(keys, width)
        self.value = nn.Linear(1, width)
        self.asks = nn.Parameter(0.1 * torch.randn(width))
        self.attend = AttentionBlock(width, 2, 32)
        self.head = nn.Sequential(nn.Linear(width, 64), nn.GELU(), nn.Linear(64, 1))

    def forward(self, keys, values, asking):
        shown = torch.where(asking, torch.zeros(()), values)
        x = self.key(keys) + self.value(shown[..., None]) + asking[..., None] * self.asks
        return self.head(self.attend(x)).squeeze(-1)


def make_batch(n, keys, generator):
    """Four to ten cells ask for the value of the cell that has their key."""
    holders = torch.rand(n, keys, generator=generator).argsort(1)
    value = torch.randn(n, keys, generator=generator)
    count = torch.randint(4, 11, (n, 1), generator=generator)
    wanted = torch.randint(0, keys, (n, 10), generator=generator)
    wanted = torch.where(torch.arange(10) < count, wanted, wanted[:, :1])
    all_keys = torch.cat([holders, wanted], 1)
    asking = torch.cat([torch.zeros(n, keys), torch.ones(n, 10)], 1).bool()
    return all_keys, value.gather(1, all_keys), asking


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model = Net(6)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(301):
        keys, values, asking = make_batch(64, 6, generator)
        out = model(keys, values, asking)
        loss = F.mse_loss(out[asking], values[asking])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 60 == 0:
            print(f"step {step}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
