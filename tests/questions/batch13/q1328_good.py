import torch
import torch.nn as nn
import torch.nn.functional as F


class GraphConv(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.near = nn.Linear(inside, outside)
        self.own = nn.Linear(inside, outside)

    def forward(self, adjacency, x):
        return self.near(adjacency @ x) + self.own(x)


class FraudNet(nn.Module):
    def __init__(self, features, hidden=64):
        super().__init__()
        self.first = GraphConv(features, hidden)
        self.second = GraphConv(hidden, hidden)
        self.head = nn.Linear(hidden, 2)

    def forward(self, adjacency, x):
        x = torch.relu(self.first(adjacency, x))
        x = torch.relu(self.second(adjacency, x))
        return self.head(x)


def make_graph(n, weights, generator):
    x = torch.randn(n, len(weights), generator=generator)
    score = x @ weights + 0.8 * torch.randn(n, generator=generator)
    fraud = (score > 0.5).long()
    same = (fraud[:, None] == fraud[None]).float()
    edges = (torch.rand(n, n, generator=generator) < 0.006 + 0.006 * same).float()
    edges = ((edges + edges.T) > 0).float()
    return edges / edges.sum(1, keepdim=True).clamp(min=1), x, fraud


def accuracy(out, labels, mask):
    return (out.argmax(1) == labels)[mask].float().mean().item()


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    weights = torch.randn(32, generator=generator) / 32**0.5
    adjacency, features, labels = make_graph(500, weights, generator)
    next_month = make_graph(500, weights, generator)
    train_mask = torch.rand(500, generator=generator) < 0.7
    test_mask = ~train_mask
    model = FraudNet(32)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    everything = torch.ones(500, dtype=torch.bool)
    for epoch in range(121):
        out = model(adjacency, features)
        loss = F.cross_entropy(out[train_mask], labels[train_mask])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch % 30 == 0:
            with torch.no_grad():
                later = accuracy(model(*next_month[:2]), next_month[2], everything)
            print(
                f"epoch {epoch}: loss {loss.item():.4f}  train {accuracy(out, labels, train_mask):.3f}"
                f"  test {accuracy(out, labels, test_mask):.3f}  next month's graph {later:.3f}"
            )


if __name__ == "__main__":
    main()
