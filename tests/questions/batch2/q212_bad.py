import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class AttentionBlock(nn.Module):
    def __init__(self, dim, heads=2):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        w = torch.softmax(q @ k.transpose(-1, -2) / (d // self.heads) ** 0.5, dim=-1)
        return self.norm(x + self.out((w @ v).transpose(1, 2).reshape(b, n, d)))


class Transformer(nn.Module):
    def __init__(self, vocab=20, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.blocks = nn.Sequential(AttentionBlock(dim), AttentionBlock(dim))
        self.head = nn.Linear(dim, 2)

    def forward(self, x):
        return self.head(self.blocks(self.embed(x)).mean(1))


def accuracy(ls, ys):
    return (ls.argmax(1) == ys).float().mean()


torch.manual_seed(0)
xs = torch.randint(0, 20, (3200, 24))
ys = ((xs == 3).sum(1) > 1).long()
loader_train = DataLoader(TensorDataset(xs[:2560], ys[:2560]), batch_size=32, shuffle=True)
loader_val = DataLoader(TensorDataset(xs[2560:], ys[2560:]), batch_size=32)

model = Transformer()
loss = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(3):
    model.train()
    e_train, a_train = 0.0, 0.0
    for xs_batch, ys_batch in loader_train:
        ls_batch = model(xs_batch)
        e_batch = loss(ls_batch, ys_batch)
        a_batch = accuracy(ls_batch, ys_batch)
        optimizer.zero_grad()
        e_batch.backward()
        optimizer.step()
        e_train += e_batch / len(loader_train)
        a_train += a_batch / len(loader_train)
    model.eval()
    e_val, a_val = 0.0, 0.0
    with torch.no_grad():
        for xs_batch, ys_batch in loader_val:
            ls_batch = model(xs_batch)
            e_val += loss(ls_batch, ys_batch) / len(loader_val)
            a_val += accuracy(ls_batch, ys_batch) / len(loader_val)
    print(
        f"epoch {epoch} train {e_train.item():.4f} {a_train.item():.3f} val {e_val.item():.4f} {a_val.item():.3f}"
    )
