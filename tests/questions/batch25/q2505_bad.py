import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

KEYS, VALUES, SLOTS = 48, 10, 20
HEADS, HEAD_DIM = 2, 128
STEPS, BATCH = 400, 32


class MultiHeadAttention(nn.Module):
    def __init__(self, q_dim, kv_dim):
        super().__init__()
        inner = HEADS * HEAD_DIM
        self.to_q = nn.Linear(q_dim, inner)
        self.to_k = nn.Linear(kv_dim, inner)
        self.to_v = nn.Linear(kv_dim, inner)
        self.proj = nn.Linear(inner, q_dim)
        self.scale = HEAD_DIM ** -0.5

    def split(self, x):
        b, n, _ = x.shape
        return x.view(b, n, HEADS, HEAD_DIM).transpose(1, 2)

    def forward(self, x_q, x_kv):
        q = self.split(self.to_q(x_q))
        k = self.split(self.to_k(x_kv))
        v = self.split(self.to_v(x_kv))
        attn = (q @ k.transpose(-2, -1)) / self.scale
        attn = attn.softmax(dim=-1)
        out = (attn @ v).transpose(1, 2).flatten(2)
        return self.proj(out)


class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q_norm, self.kv_norm, self.mlp_norm = (nn.LayerNorm(dim) for _ in range(3))
        self.attn = MultiHeadAttention(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, q, kv):
        q = q + self.attn(self.q_norm(q), self.kv_norm(kv))
        return q + self.mlp(self.mlp_norm(q))


class PerceiverLookup(nn.Module):
    def __init__(self, dim=96):
        super().__init__()
        self.key = nn.Embedding(KEYS, dim)
        self.value = nn.Embedding(VALUES, dim)
        self.ask = nn.Embedding(KEYS, dim)
        self.encoder = Layer(dim)
        self.decoder = Layer(dim)
        self.head = nn.Linear(dim, VALUES)

    def forward(self, keys, values, query):
        memory = self.key(keys) + self.value(values)
        memory = self.encoder(memory, memory)
        answer = self.decoder(self.ask(query)[:, None], memory)
        return self.head(answer[:, 0])


def batch(n):
    keys = torch.rand(n, KEYS).argsort(dim=1)[:, :SLOTS]
    values = torch.randint(0, VALUES, (n, SLOTS))
    pick = torch.randint(0, SLOTS, (n, 1))
    return keys, values, keys.gather(1, pick)[:, 0], values.gather(1, pick)[:, 0]


model = PerceiverLookup()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(STEPS):
    keys, values, query, target = batch(BATCH)
    loss = F.cross_entropy(model(keys, values, query), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(f"step {step:4d}  loss {loss.item():.3f}")

model.eval()
with torch.no_grad():
    keys, values, query, target = batch(2000)
    logits = model(keys, values, query)
print(f"test loss {F.cross_entropy(logits, target).item():.3f}  "
      f"accuracy {(logits.argmax(1) == target).float().mean().item():.3f}")
