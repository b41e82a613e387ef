import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH, NODES, FEATURES, CLASSES = 8, 12, 6, 3


class GATLayer(nn.Module):
    def __init__(self, c_in, c_out, num_heads=2, alpha=0.2):
        super().__init__()
        self.num_heads = num_heads
        self.projection = nn.Linear(c_in, c_out * num_heads)
        self.a = nn.Parameter(torch.empty(num_heads, 2 * c_out))
        self.leakyrelu = nn.LeakyReLU(alpha)
        nn.init.xavier_uniform_(self.projection.weight, gain=1.414)
        nn.init.xavier_uniform_(self.a, gain=1.414)

    def forward(self, node_feats, adj_matrix):
        batch_size, num_nodes = node_feats.size(0), node_feats.size(1)
        node_feats = self.projection(node_feats).view(batch_size, num_nodes, self.num_heads, -1)
        edges = adj_matrix.nonzero(as_tuple=False)
        node_feats_flat = node_feats.view(batch_size * num_nodes, self.num_heads, -1)
        edge_indices_row = edges[:, 0] * batch_size + edges[:, 1]
        edge_indices_col = edges[:, 0] * batch_size + edges[:, 2]
        a_input = torch.cat([node_feats_flat[edge_indices_row], node_feats_flat[edge_indices_col]], dim=-1)
        attn_logits = self.leakyrelu(torch.einsum("bhc,hc->bh", a_input, self.a))
        attn_matrix = attn_logits.new_full((batch_size, num_nodes, num_nodes, self.num_heads), -9e15)
        attn_matrix[edges[:, 0], edges[:, 1], edges[:, 2]] = attn_logits
        attn_probs = F.softmax(attn_matrix, dim=2)
        return torch.einsum("bijh,bjhc->bihc", attn_probs, node_feats).mean(dim=2)


class GAT(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = GATLayer(FEATURES, 24)
        self.head = nn.Sequential(nn.ReLU(), nn.Linear(24, CLASSES))

    def forward(self, x, adj):
        return self.head(self.layer(x, adj))


def make_batch(generator):
    """A node's class is the class that its loudest neighbour (last feature) carries in its first features."""
    carried = torch.randint(0, CLASSES, (BATCH, NODES), generator=generator)
    loud = torch.rand(BATCH, NODES, generator=generator)
    x = torch.zeros(BATCH, NODES, FEATURES)
    x[..., :CLASSES] = F.one_hot(carried, CLASSES).float()
    x[..., CLASSES:-1] = 0.3 * torch.randn(BATCH, NODES, FEATURES - CLASSES - 1, generator=generator)
    x[..., -1] = 4 * loud
    adj = (torch.rand(BATCH, NODES, NODES, generator=generator) < 0.35).float()
    adj = ((adj + torch.eye(NODES)) > 0).float()
    winner = (loud.unsqueeze(1) * adj).argmax(dim=2)
    return x, adj, carried.gather(1, winner)


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model = GAT()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    correct = total = 0
    for step in range(400):
        x, adj, y = make_batch(generator)
        logits = model(x, adj)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        correct += (logits.argmax(-1) == y).sum().item()
        total += y.numel()
        if step % 100 == 99:
            print(f"step {step}: loss {loss.item():.3f} accuracy {correct / total:.3f}")
            correct = total = 0
    with torch.no_grad():
        x, adj, _ = make_batch(generator)
        alone = torch.cat([model(x[i : i + 1], adj[i : i + 1]) for i in range(BATCH)])
        print(f"a graph alone against the same graph in a batch: {(alone - model(x, adj)).abs().max():.4f}")


if __name__ == "__main__":
    main()
