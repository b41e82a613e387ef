import torch
import torch.nn as nn
import torch.nn.functional as F


class NonParaGINConv(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x, edge_index):
        source, target = edge_index
        out = torch.zeros_like(x).index_add(0, target, x[source])
        return out + x * (1 + self.eps)


class SimpleGNNTokenizer(nn.Module):
    def __init__(self, in_dim, hidden, classes, num_layers=1, eps=0.0):
        super().__init__()
        self.layers = nn.ModuleList([NonParaGINConv(eps) for _ in range(num_layers)])
        self.head = nn.Sequential(nn.Linear(in_dim, hidden), nn.ReLU(), nn.Linear(hidden, classes))

    def forward(self, x, edge_index):
        for layer in self.layers:
            x = layer(x, edge_index)
        return self.head(x)


def make_molecules(n, atom_types=5, degree=1):
    atoms = torch.randint(atom_types, (n,))
    source = torch.arange(n).repeat_interleave(degree)
    target = torch.randint(n, (n * degree,))
    edge_index = torch.stack([source, target])
    x = F.one_hot(atoms, atom_types).float()
    carbons = torch.zeros(n).index_add(0, target, (atoms == 0).float()[source])
    y = (atoms >= 2).long() + 2 * (carbons > 0).long()
    return x, edge_index, y


def main():
    torch.manual_seed(0)
    x, edge_index, y = make_molecules(3000)
    order = torch.randperm(len(x))
    train, test = order[:2200], order[2200:]
    model = SimpleGNNTokenizer(x.shape[1], 64, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(1, 241):
        logits = model(x, edge_index)
        loss = F.cross_entropy(logits[train], y[train])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch % 80 == 0:
            hits = (logits.argmax(1) == y).float()
            train_acc, test_acc = hits[train].mean().item(), hits[test].mean().item()
            print(
                f"epoch {epoch}: loss {loss.item():.4f}  train acc {train_acc:.4f}  test acc {test_acc:.4f}"
            )
    alone = torch.ones(len(x)).index_fill(0, edge_index[1], 0).bool()
    with torch.no_grad():
        predicted = model(x, edge_index)[alone].argmax(1)
    print(
        f"nodes without a neighbour: {int(alone.sum())}, different predictions among them: {len(predicted.unique())}"
    )


if __name__ == "__main__":
    main()
