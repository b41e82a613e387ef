import torch
import torch.nn as nn
import torch.nn.functional as F


class BPRLoss(nn.Module):
    def __init__(self, lambda_reg=1e-3):
        super().__init__()
        self.lambda_reg = lambda_reg

    def forward(self, positives, negatives, parameters):
        n_pairs = positives.size(0)
        log_prob = F.logsigmoid(positives - negatives).mean()
        regularization = self.lambda_reg * parameters.norm(p=2).pow(2)
        return -log_prob + regularization / n_pairs


class LightGCN(nn.Module):
    def __init__(self, users, items, dim=16, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(users + items, dim)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.layers = layers

    def forward(self, adj):
        x = self.embedding.weight
        out = x
        for _ in range(self.layers):
            x = adj @ x
            out = out + x
        return out / (self.layers + 1)

    def recommendation_loss(self, adj, users, positive, negative):
        out = self(adj)
        rank_positive = (out[users] * out[positive]).sum(1)
        rank_negative = (out[users] * out[negative]).sum(1)
        nodes = torch.cat([users, positive, negative]).unique()
        return BPRLoss()(rank_positive, rank_negative, self.embedding.weight[nodes])


def clicks(users, items, generator):
    taste = F.normalize(torch.randn(users, 4, generator=generator), dim=1)
    kind = F.normalize(torch.randn(items, 4, generator=generator), dim=1)
    chance = torch.sigmoid(8 * (taste @ kind.t()) - 5)
    return torch.rand(users, items, generator=generator) < chance


def normalised_adjacency(matrix):
    users, items = matrix.shape
    adj = torch.zeros(users + items, users + items)
    adj[:users, users:] = matrix.float()
    adj = adj + adj.t()
    degree = adj.sum(1).clamp(min=1).rsqrt()
    return degree[:, None] * adj * degree[None, :]


def main(users=150, items=120):
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    seen = clicks(users, items, generator)
    held_out = seen & (torch.rand(seen.shape, generator=generator) < 0.2)
    train = seen & ~held_out
    adj = normalised_adjacency(train)
    pairs = train.nonzero()
    model = LightGCN(users, items)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(31):
        for rows in torch.randperm(len(pairs), generator=generator).split(512):
            user, positive = pairs[rows].t()
            negative = torch.randint(items, (len(rows),), generator=generator)
            loss = model.recommendation_loss(adj, user, positive + users, negative + users)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 6 == 0:
            with torch.no_grad():
                out = model(adj)
                score = (out[:users] @ out[users:].t()).masked_fill(train, -1e9)
                top = score.topk(10, dim=1).indices
                hits = held_out.gather(1, top).sum() / held_out.sum()
                size = model.embedding.weight.norm(dim=1).mean()
            print(f"epoch {epoch}: loss {loss.item():.6f}  recall@10 {hits:.3f}  length of the embeddings {size:.4f}")


if __name__ == "__main__":
    main()
