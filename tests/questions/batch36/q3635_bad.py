import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(14)
VOCAB, LENGTH, PAD, DIM = 10, 14, 0, 32


def make(count):
    rows = torch.randint(3, VOCAB, (count, LENGTH))
    sizes = torch.randint(8, LENGTH + 1, (count,))
    label = torch.randint(0, 2, (count,))
    for i in range(count):
        a, b = sorted(torch.randperm(int(sizes[i]))[:2].tolist())
        rows[i, a], rows[i, b] = (1, 2) if label[i] == 1 else (2, 1)
        rows[i, sizes[i]:] = PAD
    return TensorDataset(rows, label)


class PositionalEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        freq = torch.exp(-math.log(10000.0) * torch.arange(0, dim, 2) / dim)
        self.register_buffer("freq", freq)

    def forward(self, length, mask):
        angle = torch.arange(length).float()[:, None] * self.freq[None, :]
        pos = torch.cat([angle.sin(), angle.cos()], dim=-1)
        return pos[None] * mask.unsqueeze(-1)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM, padding_idx=PAD)
        self.pos = PositionalEmbedding(DIM)
        layer = nn.TransformerEncoderLayer(DIM, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(DIM, 2)

    def forward(self, tokens):
        srcmask = tokens == PAD
        srcmask_inverted = ~srcmask
        x = self.embed(tokens)
        x = x + self.pos(tokens.size(1), srcmask)
        x = self.encoder(x, src_key_padding_mask=srcmask)
        keep = srcmask_inverted.unsqueeze(-1).float()
        return self.head((x * keep).sum(1) / keep.sum(1))


train_loader = DataLoader(make(1500), batch_size=50, shuffle=True)
test_rows, test_label = make(300).tensors
model = Encoder()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(1, 13):
    model.train()
    running = 0.0
    for rows, label in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(rows), label)
        loss.backward()
        optimizer.step()
        running += loss.item()
    model.eval()
    with torch.no_grad():
        acc = (model(test_rows).argmax(1) == test_label).float().mean().item()
    if epoch % 3 == 0:
        print(f"epoch {epoch} loss {running / len(train_loader):.4f} test accuracy {acc:.3f}")
