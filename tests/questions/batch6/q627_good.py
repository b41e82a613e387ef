import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-12):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(dim))
        self.beta = nn.Parameter(torch.zeros(dim))
        self.eps = eps

    def forward(self, x):
        u = x.mean(-1, keepdim=True)
        s = (x - u).pow(2).mean(-1, keepdim=True)
        return self.gamma * (x - u) / torch.sqrt(s + self.eps) + self.beta


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.attn = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.norm1, self.norm2 = LayerNorm(dim), LayerNorm(dim)
        self.pwff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        h = self.norm1(x + self.attn(x, x, x, need_weights=False)[0])
        return self.norm2(h + self.pwff(h))


class Classifier(nn.Module):
    def __init__(self, vocab=30, dim=32, classes=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(0.1 * torch.randn(12, dim))
        self.blocks = nn.Sequential(Block(dim), Block(dim))
        self.head = nn.Linear(dim, classes)

    def forward(self, tokens):
        return self.head(self.blocks(self.embed(tokens) + self.pos)[:, 0])


def optim4gpu(model, lr, weight_decay):
    param_optimizer = list(model.named_parameters())
    no_decay = ["bias", "gamma", "beta"]
    grouped = [
        {
            "params": [p for n, p in param_optimizer if not any(nd in n for nd in no_decay)],
            "weight_decay": weight_decay,
        },
        {"params": [p for n, p in param_optimizer if any(nd in n for nd in no_decay)], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(grouped, lr=lr)


tokens = torch.randint(0, 30, (600, 12))
labels = (tokens < 10).sum(1).clamp(3, 5) - 3
model = Classifier()
optimizer = optim4gpu(model, 2e-3, 0.3)
for epoch in range(1, 13):
    total = 0.0
    for index in torch.randperm(600).split(50):
        loss = F.cross_entropy(model(tokens[index]), labels[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 0:
        gammas = torch.cat([p.detach() for n, p in model.named_parameters() if n.endswith("gamma")])
        print(f"epoch {epoch}: loss {total / 12:.4f}, mean gamma {gammas.mean():.4f}")
