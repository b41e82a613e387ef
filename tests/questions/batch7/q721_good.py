import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self, dim, head_num=2):
        super().__init__()
        self.head_num = head_num
        self.head_dim = dim // head_num
        self.attention_pre = nn.Linear(dim, dim * 3)
        self.project = nn.Linear(dim, dim)

    def split(self, x):
        B, N = x.shape[:2]
        return x.view(B, N, self.head_num, self.head_dim).permute(0, 2, 1, 3)

    def forward(self, x, mask=None):
        B, N = x.shape[:2]
        query, key, value = torch.chunk(self.attention_pre(x), 3, dim=2)
        query, key, value = self.split(query), self.split(key), self.split(value)
        score = torch.matmul(query, key.transpose(-1, -2)) / self.head_dim**0.5
        if mask is not None:
            score = score.masked_fill(~mask, value=-1e9)
        score = F.softmax(score, dim=-1)
        attention = torch.matmul(score, value).permute(0, 2, 1, 3).contiguous()
        return self.project(attention.view(B, N, -1))


class Transformer(nn.Module):
    def __init__(self, vocab=12, dim=32, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(vocab + 1, dim)
        self.position = nn.Parameter(0.1 * torch.randn(10, dim))
        self.layers = nn.ModuleList([Attention(dim) for _ in range(layers)])
        self.norms = nn.ModuleList([nn.LayerNorm(dim) for _ in range(layers)])
        self.main = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, vocab))

    def forward(self, ids):
        N = ids.size(1)
        mask = torch.tril(torch.ones(N, N, dtype=torch.bool)).view(1, 1, N, N)
        x = self.embedding(ids) + self.position[:N]
        for layer, norm in zip(self.layers, self.norms):
            x = norm(x + layer(x, mask))
        return self.main(x)


def make_sequences(n, vocab=12):
    start = torch.randint(0, vocab, (n, 1))
    step = torch.randint(1, 4, (n, 1))
    return (start + step * torch.arange(9)) % vocab


@torch.no_grad()
def generate_accuracy(model, n=100):
    truth = make_sequences(n)
    ids = truth[:, :3]
    while ids.size(1) < truth.size(1):
        following = model(ids)[:, -1].argmax(-1, keepdim=True)
        ids = torch.cat([ids, following], dim=1)
    return (ids[:, 3:] == truth[:, 3:]).float().mean().item()


def main():
    model = Transformer()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    for step in range(1, 241):
        ids = make_sequences(64)
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 60 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    print(f"generated tokens that are right: {generate_accuracy(model):.3f}")


if __name__ == "__main__":
    main()
