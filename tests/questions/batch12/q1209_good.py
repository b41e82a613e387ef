import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, DIM, CLASSES = 50, 32, 3


class Adapter(nn.Module):
    def __init__(self, dim, reduction=4):
        super().__init__()
        self.down = nn.Linear(dim, dim // reduction)
        self.up = nn.Linear(dim // reduction, dim)
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, x):
        return x + self.up(F.relu(self.down(x)))


class Encoder(nn.Module):
    def __init__(self, layers=2):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(DIM, 4, 64, dropout=0.0, batch_first=True) for _ in range(layers)
        )
        self.adapters = nn.ModuleList()
        self.head = nn.Linear(DIM, CLASSES)

    def add_adapter(self):
        for _ in self.layers:
            self.adapters.append(Adapter(DIM))

    def train_adapter(self):
        for p in self.parameters():
            p.requires_grad_(False)
        for p in self.adapters.parameters():
            p.requires_grad_(True)

    def forward(self, ids):
        x = self.embed(ids)
        for i, layer in enumerate(self.layers):
            x = layer(x)
            if len(self.adapters) > 0:
                x = self.adapters[i](x)
        return self.head(x.mean(1))


def task(n, shift, seed):
    g = torch.Generator().manual_seed(seed)
    ids = torch.randint(VOCAB, (n, 12), generator=g)
    group = ((ids + shift) % VOCAB) * CLASSES // VOCAB
    counts = F.one_hot(group, CLASSES).sum(1)
    return ids, counts.argmax(1)


def run(model, optimizer, data, epochs, name):
    ids, labels = data
    for epoch in range(epochs):
        total = 0.0
        for rows in torch.randperm(len(ids)).split(64):
            loss = F.cross_entropy(model(ids[rows]), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows)
        print(f"{name} epoch {epoch}: loss {total / len(ids):.4f}")


def main():
    torch.manual_seed(0)
    model = Encoder()
    run(model, torch.optim.AdamW(model.parameters(), lr=2e-3), task(1500, 0, 0), 4, "pretraining")
    model.add_adapter()
    model.train_adapter()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    run(model, optimizer, task(1500, 9, 1), 6, "new task")


if __name__ == "__main__":
    main()
