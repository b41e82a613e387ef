import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(60, 6)
        self.mix = nn.Linear(6, 6)

    def forward(self, tokens):
        return torch.tanh(self.mix(self.table(tokens).mean(-2)))


class Sentences(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.tokens = torch.randint(0, 60, (n, 8), generator=g)
        score = torch.randn(60, 3, generator=torch.Generator().manual_seed(1))
        self.labels = score[self.tokens].sum(1).argmax(1)

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, i):
        return self.tokens[i], self.labels[i]


class Collate:
    def __init__(self, embedder):
        self.embedder = embedder

    def __call__(self, items):
        tokens = torch.stack([t for t, _ in items])
        labels = torch.stack([l for _, l in items])
        return self.embedder(tokens).detach(), labels


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    embedder = Embedder()
    head = nn.Linear(6, 3)
    params = list(embedder.parameters()) + list(head.parameters())
    opt = torch.optim.Adam(params, lr=1e-2)
    data = Sentences(1500, 2)
    loader = DataLoader(data, batch_size=50, shuffle=True, num_workers=2, collate_fn=Collate(embedder),
                        generator=torch.Generator().manual_seed(4))
    for epoch in range(8):
        total = 0.0
        for batch, labels in loader:
            loss = F.cross_entropy(head(batch), labels)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
    test = Sentences(1000, 3)
    with torch.no_grad():
        acc = (head(embedder(test.tokens)).argmax(1) == test.labels).float().mean()
    print(f"training loss {total / len(loader):.4f}")
    print(f"accuracy {acc.item():.4f}")
    print("weights", repr(sum(p.double().sum().item() for p in params)))


if __name__ == "__main__":
    main()
