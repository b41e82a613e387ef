import torch
import torch.nn as nn
import torch.nn.functional as F


class InteractionModel(nn.Module):
    def __init__(self, embed_dim, proj_dim=24, hidden=32):
        super().__init__()
        self.embedding = nn.Sequential(nn.Linear(embed_dim, proj_dim), nn.ReLU())
        self.contact = nn.Sequential(nn.Linear(2 * proj_dim, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, z0, z1):
        e0, e1 = self.embedding(z0), self.embedding(z1)
        cmap_features = torch.cat([(e0 - e1).abs(), e0 * e1], dim=-1)
        return self.contact(cmap_features).squeeze(-1)


class PairedDataset(torch.utils.data.Dataset):
    def __init__(self, n0, n1, y):
        self.n0, self.n1, self.y = n0, n1, y

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.n0[i], self.n1[i], self.y[i]


def make_proteins(count=300, families=5, width=20):
    family = torch.randint(families, (count,))
    return torch.randn(families, width)[family] + 0.5 * torch.randn(count, width), family


def sample_pairs(proteins, family, n):
    n0, n1 = torch.randint(len(proteins), (2, n))
    partner = torch.tensor([1, 0, 3, 2, 4])
    y = (partner[family[n0]] == family[n1]).float()
    keep = (y == 1) | (torch.rand(n) < 0.3)
    return n0[keep], n1[keep], y[keep]


def make_training_set(n0, n1, y, augment):
    if augment:
        n0, n1 = torch.cat([n0, n1]), torch.cat([n1, n0])
        y = torch.cat([y, y])
    return PairedDataset(n0, n1, y)


def evaluate(model, proteins, n0, n1, y):
    with torch.no_grad():
        p = torch.sigmoid(model(proteins[n0], proteins[n1]))
    order = p.argsort(descending=True)
    hits = y[order]
    aupr = (hits.cumsum(0) / torch.arange(1, len(y) + 1) * hits).sum() / hits.sum()
    return ((p > 0.5) == (y > 0.5)).float().mean().item(), aupr.item()


def main(augment=True):
    torch.manual_seed(0)
    proteins, family = make_proteins()
    test = sample_pairs(proteins, family, 1500)
    train = make_training_set(*sample_pairs(proteins, family, 3000), augment)
    loader = torch.utils.data.DataLoader(train, batch_size=64, shuffle=True)
    model = InteractionModel(proteins.shape[1])
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(1, 11):
        total = 0.0
        for n0, n1, y in loader:
            loss = F.binary_cross_entropy_with_logits(model(proteins[n0], proteins[n1]), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 2 == 0:
            accuracy, aupr = evaluate(model, proteins, *test)
            print(
                f"Finished Epoch {epoch:2d}: Loss={total / len(loader):.4f}, Accuracy={accuracy:.3f}, AUPR={aupr:.3f}"
            )


if __name__ == "__main__":
    main()
