import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)
        self.softmax = nn.Softmax(dim=1)

    def split(self, x):
        batch, time, width = x.shape
        return x.view(batch, time, self.heads, width // self.heads).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        self.weights = self.softmax(scores)
        mixed = (self.weights @ v).transpose(1, 2).reshape(x.shape)
        return self.out(mixed)


class Reader(nn.Module):
    """Gives for each place the value that stands where the key of the place points to."""

    def __init__(self, keys=12, values=8, width=32):
        super().__init__()
        self.point, self.mark, self.item = (nn.Embedding(n, width) for n in (keys, keys, values))
        self.attention = MultiHeadAttention(width, 4)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, values))

    def forward(self, point, mark, item):
        x = self.point(point) + self.mark(mark) + self.item(item)
        return self.head(self.norm(x + self.attention(x)))


def make_batch(n, generator):
    mark = torch.argsort(torch.rand(n, 12, generator=generator), 1)
    item = torch.randint(8, (n, 12), generator=generator)
    point = torch.randint(12, (n, 12), generator=generator)
    where = torch.argsort(mark, 1).gather(1, point)
    return point, mark, item, item.gather(1, where)


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model = Reader()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(601):
        point, mark, item, target = make_batch(64, generator)
        logits = model(point, mark, item)
        loss = F.cross_entropy(logits.flatten(0, 1), target.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 150 == 0:
            hit = (logits.argmax(-1) == target).float().mean().item()
            mass = model.attention.weights.sum(-1).mean().item()
            print(
                f"step {step}: loss {loss.item():.3f}  hits {hit:.3f}  weights of a query sum to {mass:.2f}"
            )


if __name__ == "__main__":
    main()
