import torch
import torch.nn as nn
import torch.nn.functional as F


class AdditiveAttention(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.to_query = nn.Linear(dim, dim)
        self.to_key = nn.Linear(dim, dim)
        self.w_g = nn.Parameter(torch.randn(dim, 1))
        self.scale = dim ** -0.5
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        query = self.to_query(x)
        key = self.to_key(x)
        weight = query @ self.w_g
        attn = torch.softmax(weight * self.scale, dim=-1)
        pooled = (attn * query).sum(dim=1, keepdim=True)
        return self.proj(pooled * key) + query


class SwiftBlock(nn.Module):
    def __init__(self, dim=16, n_class=4):
        super().__init__()
        self.embed = nn.Linear(10, dim)
        self.attn = AdditiveAttention(dim)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, n_class)

    def forward(self, x):
        h = torch.tanh(self.embed(x))
        h = self.norm(self.attn(h))
        return self.head(h.mean(dim=1))


def make_sets(n, length=40):
    tokens = torch.randn(n, length, 10)
    where = torch.randint(0, length, (n,))
    label = torch.randint(0, 4, (n,))
    tokens[..., :4] = F.one_hot(torch.randint(0, 4, (n, length)), 4).float() * 2
    tokens[..., 9] = 0.0
    tokens[torch.arange(n), where, 9] = 2.0
    tokens[torch.arange(n), where, :4] = F.one_hot(label, 4).float() * 2
    return tokens, label


torch.manual_seed(0)
x, y = make_sets(1500)
vx, vy = make_sets(400)
model = SwiftBlock()
before = model.attn.w_g.detach().clone()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.0)
for epoch in range(12):
    total = 0.0
    for idx in torch.randperm(1500).split(50):
        loss = F.cross_entropy(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    with torch.no_grad():
        acc = (model(vx).argmax(1) == vy).float().mean().item()
    print(f"epoch {epoch} loss {total / 30:.4f} val acc {acc:.3f}")
print("w_g moved by", (model.attn.w_g - before).abs().max().item())
