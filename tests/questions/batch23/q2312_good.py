import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)
torch.set_num_threads(1)

VOCAB, LENGTH, CLASSES = 30, 16, 4


def make_reviews(n):
    x = torch.randint(5, VOCAB, (n, LENGTH))
    y = torch.zeros(n, dtype=torch.long)
    for i in range(n):
        spots = torch.randperm(LENGTH)[:4]
        x[i, spots] = torch.tensor([1, 2, 3, 4])
        y[i] = int(spots[0] < spots[1]) + 2 * int(spots[2] < spots[3])
    return TensorDataset(x, y)


class TextTransformer(nn.Module):
    def __init__(self, dim=32, heads=4, layers=2):
        super().__init__()
        self.dim = dim
        self.embeddings = nn.Embedding(VOCAB, dim)
        self.positions = nn.Embedding(LENGTH, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.fc = nn.Linear(dim, CLASSES)

    def forward(self, x):
        h = self.embeddings(x) * math.sqrt(self.dim)
        h = h + self.positions(torch.arange(x.size(1))) * math.sqrt(self.dim)
        h = self.encoder(h)
        return self.fc(h.mean(dim=1))


train = DataLoader(make_reviews(2400), batch_size=48, shuffle=True)
valid = DataLoader(make_reviews(480), batch_size=48)
model = TextTransformer()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(10):
    model.train()
    total = 0.0
    for x, y in train:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        acc = torch.cat([(model(x).argmax(1) == y).float() for x, y in valid]).mean().item()
    print(f"epoch {epoch} loss {total / len(train):.4f} valid acc {acc:.3f}")
