import torch
import torch.nn as nn
import torch.nn.functional as F

USERS, ITEMS, GROUPS, DIM = 120, 90, 6, 16


class LightGCN(nn.Module):
    def __init__(self, norm_adj, layers=2, keep_pro=0.6):
        super().__init__()
        self.norm_adj, self.layers, self.keep_pro = norm_adj, layers, keep_pro
        self.embedding_user = nn.Embedding(USERS, DIM)
        self.embedding_item = nn.Embedding(ITEMS, DIM)
        nn.init.normal_(self.embedding_user.weight, std=0.1)
        nn.init.normal_(self.embedding_item.weight, std=0.1)

    def dropout(self, graph):
        keep = (torch.rand_like(graph) < self.keep_pro).float()
        return graph * keep / self.keep_pro

    def forward(self):
        graph = self.norm_adj
        if self.training and self.keep_pro < 1:
            graph = self.dropout(graph)
        emb = torch.cat([self.embedding_user.weight, self.embedding_item.weight])
        layers = [emb]
        for _ in range(self.layers):
            layers.append(graph @ layers[-1])
        return torch.stack(layers).mean(0).split([USERS, ITEMS])

    def predict(self):
        users, items = self.forward()
        return users @ items.t()


def make_data(generator):
    taste = torch.arange(USERS) % GROUPS
    kind = torch.arange(ITEMS) % GROUPS
    chance = torch.where(taste.unsqueeze(1) == kind, 0.5, 0.04)
    seen = torch.rand(USERS, ITEMS, generator=generator) < chance
    test = seen & (torch.rand(USERS, ITEMS, generator=generator) < 0.3)
    return seen & ~test, test


def normalise(train):
    adj = torch.zeros(USERS + ITEMS, USERS + ITEMS)
    adj[:USERS, USERS:] = train.float()
    adj = adj + adj.t()
    scale = adj.sum(1).clamp(min=1).rsqrt()
    return scale.unsqueeze(1) * adj * scale


def evaluate(model, train, test, k=10):
    model.eval()
    with torch.no_grad():
        scores = model.predict().masked_fill(train, -1e9)
    hits = test.gather(1, scores.topk(k, dim=1).indices).sum(1)
    return (hits / test.sum(1).clamp(min=1)).mean().item()


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    train, test = make_data(generator)
    pairs = train.nonzero()
    model = LightGCN(normalise(train))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(10):
        model.train()
        for rows in torch.randperm(len(pairs), generator=generator).split(128):
            users, items = model()
            user, pos = pairs[rows].t()
            neg = torch.randint(0, ITEMS, (len(rows),), generator=generator)
            margin = (users[user] * (items[pos] - items[neg])).sum(1)
            loss = F.softplus(-margin).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 2 == 1:
            recalls = [evaluate(model, train, test) for _ in range(3)]
            again = " ".join(f"{r:.4f}" for r in recalls)
            print(f"epoch {epoch}: loss {loss.item():.3f} recall@10, evaluated three times: {again}")


if __name__ == "__main__":
    main()
