import math

import torch
from torch import nn

torch.manual_seed(17)

VOCAB, SEQ, DIM = 12, 16, 32
table = torch.randint(0, VOCAB, (VOCAB, VOCAB))


def batch_of(n):
    seq = torch.randint(0, VOCAB, (n, SEQ + 1))
    for t in range(2, SEQ + 1):
        rule = table[seq[:, t - 2], seq[:, t - 1]]
        keep = torch.rand(n) < 0.9
        seq[:, t] = torch.where(keep, rule, seq[:, t])
    return seq[:, :-1], seq[:, 1:]


class TransformerModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, DIM)
        self.position = nn.Parameter(0.02 * torch.randn(1, SEQ, DIM))
        layer = nn.TransformerEncoderLayer(DIM, nhead=4, dim_feedforward=64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2)
        self.linear = nn.Linear(DIM, VOCAB)

    def forward(self, src, src_mask=None):
        if src_mask is None:
            src_mask = nn.Transformer.generate_square_subsequent_mask(src.size(1))
        src = self.embedding(src) * math.sqrt(DIM) + self.position[:, :src.size(1)]
        output = self.encoder(src, src_mask)
        return self.linear(output)


model = TransformerModel()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()

for step in range(1, 301):
    data, targets = batch_of(32)
    output = model(data)
    loss = criterion(output.reshape(-1, VOCAB), targets.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 0:
        print(f"step {step:3d}  loss {loss.item():.4f}  perplexity {math.exp(loss.item()):.2f}")

model.eval()
data, targets = batch_of(300)
with torch.no_grad():
    right = []
    for t in range(2, SEQ):
        last = model(data[:, :t + 1])[:, -1]
        right.append((last.argmax(1) == targets[:, t]).float().mean().item())
print(f"next token guessed when only the past is given: {sum(right) / len(right):.3f}")
