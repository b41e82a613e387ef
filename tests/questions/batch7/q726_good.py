import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class GCNLayer(nn.Module):
    def __init__(self, in_feats, out_feats):
        super().__init__()
        self.linear = nn.Linear(in_feats, out_feats)

    def forward(self, adj, h):
        return adj @ self.linear(h)


class GCN(nn.Module):
    def __init__(self, in_feats, n_hidden, n_classes, n_layers=3, dropout=0.3):
        super().__init__()
        sizes = [in_feats] + [n_hidden] * (n_layers - 1) + [n_classes]
        self.layers = nn.ModuleList([GCNLayer(a, b) for a, b in zip(sizes, sizes[1:])])
        self.dropout = nn.Dropout(dropout)

    def forward(self, adj, h):
        for i, layer in enumerate(self.layers):
            if i:
                h = self.dropout(F.relu(h))
            h = layer(adj, h)
        return h


def citation_graph(n=400, classes=5, feats=30):
    labels = torch.randint(0, classes, (n,))
    same = labels.unsqueeze(0) == labels.unsqueeze(1)
    popular = torch.rand(n).pow(4) * 6 + 0.3
    prob = torch.where(same, 0.06, 0.008) * popular.unsqueeze(0) * popular.unsqueeze(1)
    upper = torch.triu((torch.rand(n, n) < prob).float(), diagonal=1)
    features = 0.7 * torch.randn(classes, feats)[labels] + 1.5 * torch.randn(n, feats)
    return upper + upper.t(), features, labels


def build_adjacency(edges):
    adj = edges + torch.eye(len(edges))
    scale = adj.sum(1).rsqrt()
    return scale.unsqueeze(1) * adj * scale.unsqueeze(0)


def main():
    edges, features, labels = citation_graph()
    adj = build_adjacency(edges)
    order = torch.randperm(len(labels))
    train_idx, test_idx = order[:60], order[100:]
    model = GCN(features.size(1), 32, 5)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-4)
    for epoch in range(1, 101):
        model.train()
        loss = F.cross_entropy(model(adj, features)[train_idx], labels[train_idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch % 25 == 0:
            model.eval()
            with torch.no_grad():
                logits = model(adj, features)
                test_loss = F.cross_entropy(logits[test_idx], labels[test_idx]).item()
                acc = (logits.argmax(1) == labels)[test_idx].float().mean().item()
            print(f"Epoch {epoch}: train {loss.item():.4f} test loss {test_loss:.4f} accuracy {acc:.3f}")


if __name__ == "__main__":
    main()
