import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def make_graph(n=600, d=64, p_in=0.012, p_out=0.006):
    g = torch.Generator().manual_seed(3)
    labels = (torch.rand(n, generator=g) < 0.4).long()
    feats = torch.randn(n, d, generator=g)
    feats[:, 0] += 1.2 * (labels * 2 - 1)
    same = labels[:, None] == labels[None, :]
    prob = torch.where(same, torch.tensor(p_in), torch.tensor(p_out))
    adj = (torch.rand(n, n, generator=g) < prob).float().triu(1)
    adj = adj + adj.t() + torch.eye(n)
    deg = adj.sum(1).rsqrt()
    adj = deg[:, None] * adj * deg[None, :]
    order = torch.randperm(n, generator=g)
    train_mask = torch.zeros(n, dtype=torch.bool)
    test_mask = torch.zeros(n, dtype=torch.bool)
    train_mask[order[: int(0.6 * n)]] = True
    test_mask[order[int(0.6 * n):]] = True
    return adj, feats, labels, train_mask, test_mask


class FraudGCN(nn.Module):
    def __init__(self, d, hidden, classes):
        super().__init__()
        self.lin1 = nn.Linear(d, hidden)
        self.self1 = nn.Linear(d, hidden)
        self.lin2 = nn.Linear(hidden, classes)

    def forward(self, adj, x):
        h = F.relu(adj @ self.lin1(x) + self.self1(x))
        return self.lin2(h)


def accuracy(pred, labels, mask):
    return (pred.argmax(1)[mask] == labels[mask]).float().mean().item()


def train_fg(model, optim, loss, adj, feats, labels, train_mask, test_mask, epochs):
    for epoch in range(epochs):
        model.train()
        pred = model(adj, feats)
        l = loss(pred, labels)
        optim.zero_grad()
        l.backward()
        optim.step()
        if epoch % 50 == 0:
            model.eval()
            with torch.no_grad():
                pred = model(adj, feats)
            print(f"epoch {epoch:3d} loss {l.item():.4f} "
                  f"train {accuracy(pred, labels, train_mask):.3f} test {accuracy(pred, labels, test_mask):.3f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=400)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1e-2)
    args = parser.parse_args()
    torch.manual_seed(0)
    adj, feats, labels, train_mask, test_mask = make_graph()
    model = FraudGCN(feats.shape[1], args.hidden, 2)
    loss = nn.CrossEntropyLoss()
    optim = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=5e-4)
    train_fg(model, optim, loss, adj, feats, labels, train_mask, test_mask, args.epochs)
    model.eval()
    with torch.no_grad():
        pred = model(adj, feats)
        test_loss = loss(pred[test_mask], labels[test_mask]).item()
    print(f"final train acc {accuracy(pred, labels, train_mask):.3f} "
          f"test acc {accuracy(pred, labels, test_mask):.3f} test loss {test_loss:.4f}")


if __name__ == "__main__":
    main()
