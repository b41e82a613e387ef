import math
import torch
import torch.nn as nn

torch.manual_seed(11)
VOCAB, LENGTH, DIM = 12, 16, 32


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.0, max_len=512):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len).float().unsqueeze(1)
        rate = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * rate)
        pe[:, 1::2] = torch.cos(position * rate)
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        return self.dropout(x + self.pe[:, : x.size(1)])


class ActionModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.pos = PositionalEncoding(DIM)
        layer = nn.TransformerEncoderLayer(DIM, 4, 64, dropout=0.0)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(DIM, 2)

    def forward(self, tokens):
        x = self.embed(tokens).transpose(0, 1)
        x = self.encoder(self.pos(x))
        return self.head(x.mean(dim=0))


def make_split(n, gen):
    seq = torch.randint(2, VOCAB, (n, LENGTH), generator=gen)
    where = torch.stack([torch.randperm(LENGTH, generator=gen)[:2] for _ in range(n)])
    rows = torch.arange(n)
    seq[rows, where[:, 0]] = 0
    seq[rows, where[:, 1]] = 1
    return seq, (where[:, 0] < where[:, 1]).long()


gen = torch.Generator().manual_seed(5)
train_x, train_y = make_split(4096, gen)
test_x, test_y = make_split(1024, gen)

model = ActionModel()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_fn = nn.CrossEntropyLoss()
BATCH = 64

for epoch in range(8):
    model.train()
    order = torch.randperm(len(train_x), generator=gen)
    total = 0.0
    for k in range(0, len(order), BATCH):
        idx = order[k:k + BATCH]
        loss = loss_fn(model(train_x[idx]), train_y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    print(f"epoch {epoch}  loss {total / len(train_x):.4f}")

model.eval()
hits = 0
with torch.no_grad():
    for k in range(0, len(test_x), BATCH):
        hits += (model(test_x[k:k + BATCH]).argmax(1) == test_y[k:k + BATCH]).sum().item()
print(f"test accuracy {hits / len(test_x):.3f}")
