import torch
import torch.nn as nn


class GCNLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.self_loop = nn.Linear(dim, dim)
        self.neighbours = nn.Linear(dim, dim)

    def forward(self, x, adj):
        degree = adj.sum(-1, keepdim=True).clamp(min=1)
        return torch.relu(self.self_loop(x) + self.neighbours(adj @ x / degree))


class TransformerGCNQA(nn.Module):
    def __init__(self, dim=24, layers=2):
        super().__init__()
        self.encode = nn.Linear(10, dim)
        self.query = nn.Linear(10, dim)
        self.layers = nn.ModuleList(GCNLayer(dim) for _ in range(layers))
        self.fc = nn.Sequential(nn.Linear(2 * dim, dim), nn.ReLU(), nn.Linear(dim, 1))

    def forward(self, query, mentions, adj):
        x = torch.relu(self.encode(mentions))
        for layer in self.layers:
            x = layer(x, adj)
        q = self.query(query).unsqueeze(1).expand(-1, x.size(1), -1)
        scores = self.fc(torch.cat([x, q], dim=-1)).squeeze(-1)
        return scores


def make_batch(n=64, candidates=8):
    query = torch.randn(n, 10)
    mentions = torch.randn(n, candidates, 10)
    answer = torch.randint(0, candidates, (n,))
    mentions[torch.arange(n), answer] = query + 0.3 * torch.randn(n, 10)
    adj = (torch.rand(n, candidates, candidates) < 0.3).float()
    return query, mentions, adj, answer


torch.manual_seed(0)
model = TransformerGCNQA()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
loss_function = nn.CrossEntropyLoss()
for epoch in range(8):
    model.train()
    for _ in range(40):
        query, mentions, adj, answer = make_batch()
        optimizer.zero_grad()
        logits = model(query, mentions, adj)
        loss = loss_function(logits, answer)
        loss.backward()
        optimizer.step()
    acc = (logits.argmax(-1) == answer).float().mean()
    print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.3f}")
