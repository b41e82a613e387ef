import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.attention = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class Encoder(nn.Module):
    def __init__(self, tokens=20, dim=16, depth=3, gradient_checkpointing=True):
        super().__init__()
        self.embeddings = nn.Embedding(tokens, dim)
        self.layers = nn.ModuleList([Layer(dim) for _ in range(depth)])
        self.gradient_checkpointing = gradient_checkpointing

    def forward(self, ids):
        x = self.embeddings(ids)
        for layer in self.layers:
            if self.gradient_checkpointing and self.training:
                x = checkpoint(layer, x, use_reentrant=False)
            else:
                x = layer(x)
        return x


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.head = nn.Linear(16, 2)

    def forward(self, ids):
        return self.head(self.encoder(ids).mean(1))


def freeze(model, layers):
    for module in [model.encoder.embeddings, *model.encoder.layers[:layers]]:
        for p in module.parameters():
            p.requires_grad = False


torch.manual_seed(0)
model = Classifier()
freeze(model, layers=1)
trainable = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trainable, lr=3e-3)
for step in range(60):
    ids = torch.randint(0, 20, (32, 8))
    label = ((ids < 5).sum(1) > (ids > 14).sum(1)).long()
    loss = F.cross_entropy(model(ids), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 12 == 0:
        print(f"step {step} loss {loss.item():.4f}")
