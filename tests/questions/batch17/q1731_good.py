import torch
import torch.nn as nn
import torch.nn.functional as F


class GraphRecommender(nn.Module):
    def __init__(self, interactions, dim=16):
        super().__init__()
        users, items = interactions.shape
        self.user_emb = nn.Embedding(users, dim)
        self.item_emb = nn.Embedding(items, dim)
        nn.init.normal_(self.user_emb.weight, std=0.1)
        nn.init.normal_(self.item_emb.weight, std=0.1)
        by_user = interactions.sum(dim=1, keepdim=True).clamp(min=1).sqrt()
        by_item = interactions.sum(dim=0, keepdim=True).clamp(min=1).sqrt()
        self.register_buffer("edges", interactions / by_user / by_item)

    def forward(self):
        users, items = self.user_emb.weight, self.item_emb.weight
        return users + self.edges @ items, items + self.edges.T @ users


def bpr_loss(u, p, n):
    loss = torch.sum(torch.mul(u, p - n), dim=1)
    return torch.neg(F.logsigmoid(loss)).mean()


def make_interactions(users=150, items=120, dim=4):
    taste = torch.randn(users, dim) @ torch.randn(items, dim).T / dim**0.5
    popularity = 0.7 * torch.randn(items)
    liked = torch.rand(users, items) < torch.sigmoid(3 * taste + popularity - 3)
    held_out = liked & (torch.rand(users, items) < 0.3)
    return (liked & ~held_out).float(), held_out, ~liked


def auc(score, held_out, never):
    total, count = 0.0, 0
    for s, pos, neg in zip(score, held_out, never):
        if pos.any():
            total += (s[pos].unsqueeze(1) > s[neg].unsqueeze(0)).float().mean().item()
            count += 1
    return total / count


def main():
    torch.manual_seed(0)
    train, held_out, never = make_interactions()
    pairs = train.nonzero()
    model = GraphRecommender(train)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(1, 31):
        for rows in torch.randperm(len(pairs)).split(256):
            user, positive = pairs[rows].T
            negative = torch.randint(train.shape[1], (len(rows),))
            users, items = model()
            loss = bpr_loss(users[user], items[positive], items[negative])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 10 == 0:
            with torch.no_grad():
                users, items = model()
                alike = F.normalize(users, dim=1) @ F.normalize(users, dim=1).T
                found = auc(users @ items.T, held_out, never)
            print(
                f"epoch {epoch}: loss {loss.item():.6f}, held-out AUC {found:.4f}, users' mean cosine {alike.mean():.3f}"
            )


if __name__ == "__main__":
    main()
