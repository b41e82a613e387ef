import torch
import torch.nn as nn
import torch.nn.functional as F


def make_network(nodes=300, communities=10):
    group = torch.randint(communities, (nodes,))
    same = (group.view(-1, 1) == group.view(1, -1)).float()
    chance = 0.25 * same + 0.008 * (1 - same)
    upper = torch.triu(torch.bernoulli(chance), diagonal=1)
    return torch.maximum(upper, upper.t())


def divide_data(adjacency, ratio=0.3):
    edges = adjacency.nonzero()
    edges = edges[torch.randperm(len(edges))]
    size = int(ratio * len(edges))
    return edges[size:], edges[:size]


def sample_non_edges(adjacency, count):
    pairs = torch.randint(len(adjacency), (2 * count, 2))
    fine = (pairs[:, 0] != pairs[:, 1]) & (adjacency[pairs[:, 0], pairs[:, 1]] == 0)
    return pairs[fine][:count]


class LinkPredictor(nn.Module):
    def __init__(self, nodes, dim=16):
        super().__init__()
        self.embedding = nn.Embedding(nodes, dim)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, pairs):
        u, v = self.embedding(pairs[:, 0]), self.embedding(pairs[:, 1])
        return (u * v).sum(dim=1) + self.bias


def roc_auc(positive, negative):
    greater = (positive.view(-1, 1) > negative.view(1, -1)).float()
    return greater.mean().item()


def main():
    torch.manual_seed(0)
    network = make_network()
    pairs = torch.triu(network).nonzero()
    later = pairs[torch.randperm(len(pairs))[: len(pairs) // 5]]
    adjacency = network.clone()
    adjacency[later[:, 0], later[:, 1]] = 0
    adjacency[later[:, 1], later[:, 0]] = 0
    train, test = divide_data(adjacency)
    test_negative = sample_non_edges(network, len(test))
    model = LinkPredictor(len(network))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-3)
    for epoch in range(1, 46):
        for rows in torch.randperm(len(train)).split(256):
            negative = sample_non_edges(adjacency, len(rows))
            logits = torch.cat([model(train[rows]), model(negative)])
            target = torch.cat([torch.ones(len(rows)), torch.zeros(len(rows))])
            loss = F.binary_cross_entropy_with_logits(logits, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 15 == 0:
            with torch.no_grad():
                auc = roc_auc(model(test), model(test_negative))
                auc_later = roc_auc(model(later), model(test_negative))
            print(
                f"epoch {epoch:2d}: loss {loss.item():.4f}  test ROC-AUC {auc:.4f}"
                f"  ROC-AUC on links that appeared later {auc_later:.4f}"
            )


if __name__ == "__main__":
    main()
