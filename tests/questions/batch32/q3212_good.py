import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class BinaryOutput(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.to_call = nn.Sequential(nn.Linear(dim, 1), nn.Sigmoid())
        self.default_loss = nn.BCELoss()

    def forward(self, x):
        return self.to_call(x)


class MLPModel(nn.Module):
    def __init__(self, n_users=200, n_items=100, dim=12):
        super().__init__()
        self.user = nn.Embedding(n_users, dim)
        self.item = nn.Embedding(n_items, dim)
        self.mlp = nn.Sequential(nn.Linear(2 * dim, 48), nn.ReLU(), nn.Linear(48, 16), nn.ReLU())
        self.output = BinaryOutput(16)

    def forward(self, user, item):
        x = torch.cat([self.user(user), self.item(item)], 1)
        return self.output(self.mlp(x))

    def training_step(self, batch):
        user, item, click = batch
        pred = self(user, item)
        return self.output.default_loss(pred, click.view(-1, 1))


def clicks(n, taste, kind):
    user = torch.randint(0, len(taste), (n,))
    item = torch.randint(0, len(kind), (n,))
    likes = (taste[user] == kind[item]) & (torch.rand(n) < 0.95)
    return TensorDataset(user, item, likes.float())


def fit(model, loader, test):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(8):
        total = 0.0
        for batch in loader:
            loss = model.training_step(batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        with torch.no_grad():
            p = model(test.tensors[0], test.tensors[1]).squeeze(1)
        y = test.tensors[2]
        brier = ((p - y) ** 2).mean().item()
        print(
            f"epoch {epoch} loss {total / len(loader):.4f} brier {brier:.4f} "
            f"mean p of clicks {p[y == 1].mean():.3f}, of others {p[y == 0].mean():.3f}"
        )


if __name__ == "__main__":
    taste, kind = torch.randint(0, 4, (200,)), torch.randint(0, 4, (100,))
    train, test = clicks(6000, taste, kind), clicks(1000, taste, kind)
    fit(MLPModel(), DataLoader(train, batch_size=100, shuffle=True), test)
