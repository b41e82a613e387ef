import torch
import torch.nn as nn


class NodeEncoder(nn.Module):
    def __init__(self, num_nodes, dim, adjacency):
        super().__init__()
        self.emb = nn.Embedding(num_nodes, dim)
        self.conv = nn.Linear(dim, dim)
        self.register_buffer(
            "mean_of_neighbours", adjacency / adjacency.sum(dim=1, keepdim=True).clamp(min=1)
        )

    def forward(self):
        x = self.emb.weight
        return self.conv(x + self.mean_of_neighbours @ x)


def make_graph(num_nodes=120, groups=4):
    group = torch.arange(num_nodes) % groups
    same = group.unsqueeze(0) == group.unsqueeze(1)
    chance = torch.where(same, 0.5, 0.03)
    upper = torch.triu(torch.rand(num_nodes, num_nodes) < chance, diagonal=1)
    return (upper | upper.T).float()


def sample_edges(adjacency):
    pairs = torch.triu_indices(len(adjacency), len(adjacency), offset=1)
    linked = adjacency[pairs[0], pairs[1]] > 0
    positive = pairs[:, linked]
    negative = pairs[:, ~linked]
    positive = positive[:, torch.randperm(positive.shape[1])]
    negative = negative[:, torch.randperm(negative.shape[1])[: positive.shape[1]]]
    edges = torch.cat([positive, negative], dim=1)
    labels = torch.cat([torch.ones(positive.shape[1]), torch.zeros(negative.shape[1])])
    order = torch.randperm(edges.shape[1])
    return edges[:, order], labels[order]


def train(model, loss_fn, edges, labels, epochs=60):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    start = model.emb.weight.detach().clone()
    for epoch in range(1, epochs + 1):
        model.train()
        nodes = model()
        first, second = nodes[edges[0]], nodes[edges[1]]
        scores = torch.sigmoid((first * second).sum(dim=1))
        loss = loss_fn(scores, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch % 15 == 0:
            accuracy = ((scores > 0.5) == (labels > 0.5)).float().mean().item()
            print(f"epoch {epoch:2d}: loss {loss.item():.4f}, accuracy {accuracy:.4f}")
    moved = (model.emb.weight.detach() - start).abs().max().item()
    print(f"largest change of an embedding: {moved:.4f}")


def main():
    torch.manual_seed(0)
    adjacency = make_graph()
    edges, labels = sample_edges(adjacency)
    model = NodeEncoder(len(adjacency), 16, adjacency)
    train(model, nn.MSELoss(), edges, labels)


if __name__ == "__main__":
    main()
