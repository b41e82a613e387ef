import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


class Embeddings(nn.Module):
    def __init__(self, vocab, dim, length):
        super().__init__()
        self.word = nn.Embedding(vocab, dim)
        self.position = nn.Embedding(length, dim)

    def forward(self, ids):
        return self.word(ids) + self.position(torch.arange(ids.size(1)))


class Encoder(nn.Module):
    def __init__(self, dim, layers):
        super().__init__()
        self.layer = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, 2, 2 * dim, dropout=0.0, batch_first=True) for _ in range(layers)
        )
        self.gradient_checkpointing = False

    def forward(self, hidden):
        for layer in self.layer:
            if self.gradient_checkpointing and self.training:
                hidden = checkpoint(layer, hidden, use_reentrant=False)
            else:
                hidden = layer(hidden)
        return hidden


class Bert(nn.Module):
    def __init__(self, vocab=40, dim=16, layers=3, length=12):
        super().__init__()
        self.embeddings = Embeddings(vocab, dim, length)
        self.encoder = Encoder(dim, layers)

    def gradient_checkpointing_enable(self):
        self.encoder.gradient_checkpointing = True

    def forward(self, ids):
        return self.encoder(self.embeddings(ids)).mean(1)


def freeze(module):
    for p in module.parameters():
        p.requires_grad = False


torch.manual_seed(0)
model = Bert()
freeze(model.embeddings)
model.gradient_checkpointing_enable()
model.train()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-3)
ids = torch.randint(0, 40, (64, 12))
target = torch.randn(40, 16)[ids].mean(1)

for step in range(40):
    output = model(ids)
    loss = nn.functional.mse_loss(output, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0 or step == 39:
        print(f"step {step} loss {loss.item():.4f}")
