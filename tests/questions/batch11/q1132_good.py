import torch
import torch.nn as nn
import torch.nn.functional as F


class HashTextEmbedder:
    def __init__(self, out_channels, num_hash_bins=64):
        self.num_hash_bins = num_hash_bins
        self.embedding = nn.Embedding(num_hash_bins, out_channels)

    def __call__(self, sentences):
        idx = torch.tensor([sum(map(ord, s)) % self.num_hash_bins for s in sentences])
        return self.embedding(idx).detach()


class TableDataset:
    def __init__(self, rows, embedder):
        self.num = torch.tensor([r["price"] for r in rows]).unsqueeze(1)
        self.text = embedder([r["title"] for r in rows])
        self.y = torch.tensor([r["rating"] for r in rows])

    def __len__(self):
        return len(self.y)

    def loader(self, batch_size):
        for idx in torch.randperm(len(self)).split(batch_size):
            yield self.num[idx], self.text[idx], self.y[idx]


class TabModel(nn.Module):
    def __init__(self, text_dim, channels=32):
        super().__init__()
        self.num_encoder = nn.Linear(1, channels)
        self.text_encoder = nn.Linear(text_dim, channels)
        self.backbone = nn.Sequential(
            nn.ReLU(), nn.Linear(channels, channels), nn.ReLU(), nn.Linear(channels, 1)
        )

    def forward(self, num, text):
        return self.backbone(self.num_encoder(num) + self.text_encoder(text)).squeeze(-1)


def make_rows(n):
    titles = ["red lamp", "oak desk", "desk lamp", "oak bed", "steel bed", "blue chair", "oak chair"]
    rows = []
    for _ in range(n):
        k = int(torch.randint(0, len(titles), (1,)))
        price = float(torch.rand(1))
        rows.append(
            {"title": titles[k], "price": price, "rating": 0.3 * k - price + 0.1 * float(torch.randn(1))}
        )
    return rows


def train(model, dataset, optimizer):
    model.train()
    total = 0.0
    for num, text, y in dataset.loader(64):
        pred = model(num, text)
        loss = F.mse_loss(pred, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
    return total / len(dataset)


torch.manual_seed(23)
dataset = TableDataset(make_rows(512), HashTextEmbedder(out_channels=12))
model = TabModel(text_dim=12)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(1, 7):
    print(f"Train Loss: {train(model, dataset, optimizer):.4f}")
