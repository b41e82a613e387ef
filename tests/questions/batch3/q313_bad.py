import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(21)


class SequenceEncoder(nn.Module):
    def __init__(self, vocab, embed_dim=32, layers=1):
        super().__init__()
        self.embedding = nn.Embedding(vocab, embed_dim)
        self.position = nn.Parameter(torch.randn(1, 10, embed_dim) * 0.1)
        layer = nn.TransformerEncoderLayer(d_model=embed_dim, nhead=4, dim_feedforward=64, dropout=0.0)
        self.encoder = nn.TransformerEncoder(layer, num_layers=layers)
        self.fc = nn.Linear(embed_dim, vocab)

    def forward(self, x):
        h = self.embedding(x) + self.position[:, : x.size(1)]
        h = self.encoder(h)
        return self.fc(h)


def make_batch(size=64, length=10, vocab=8):
    x = torch.randint(0, vocab, (size, length))
    return x, x.flip(1)


model = SequenceEncoder(8)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(300):
    x, y = make_batch()
    logits = model(x)
    loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0 or step == 299:
        print(f"step {step}: loss {loss.item():.4f} accuracy {(logits.argmax(-1) == y).float().mean():.3f}")
