import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class ItemConv(nn.Module):
    def __init__(self, layers, emb_size=16):
        super().__init__()
        self.layers = layers
        self.w_item = nn.ModuleDict()
        for i in range(layers):
            self.w_item[f"weight_item{i}"] = nn.Linear(emb_size, emb_size, bias=False)

    def forward(self, adjacency, embedding):
        item_embeddings = embedding
        final = [item_embeddings]
        for i in range(self.layers):
            item_embeddings = self.w_item[f"weight_item{i}"](item_embeddings)
            item_embeddings = adjacency @ item_embeddings
            final.append(F.normalize(item_embeddings, dim=-1))
        return sum(final) / (self.layers + 1)


class SessionRecommender(nn.Module):
    def __init__(self, n_items, adjacency, emb_size=16, layers=2):
        super().__init__()
        self.adjacency = adjacency
        self.embedding = nn.Embedding(n_items, emb_size)
        self.item_graph = ItemConv(layers, emb_size)
        self.position = nn.Embedding(6, emb_size)
        self.attention = nn.Linear(emb_size, 1)

    def forward(self, sessions):
        items = self.item_graph(self.adjacency, self.embedding.weight)
        seq = items[sessions] + self.position.weight[: sessions.size(1)]
        alpha = torch.softmax(self.attention(torch.tanh(seq)), dim=1)
        return (alpha * seq).sum(1) @ items.t()


n_items = 60
sessions = torch.randint(0, n_items, (800, 1)) + torch.arange(6)
sessions = (sessions + (torch.rand(800, 6) < 0.1).long()) % n_items
target = (sessions[:, -1] + 1) % n_items
adjacency = torch.eye(n_items)
for s in sessions:
    adjacency[s[:-1], s[1:]] += 1
adjacency = adjacency / adjacency.sum(1, keepdim=True)
model = SessionRecommender(n_items, adjacency)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(1, 16):
    total = 0.0
    for index in torch.randperm(800).split(100):
        loss = F.cross_entropy(model(sessions[index]), target[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 0:
        print(f"epoch {epoch}: loss {total / 8:.4f}")
