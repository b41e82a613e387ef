import torch
from torch import nn

torch.manual_seed(2)
N_USERS, N_ITEMS, GROUPS = 300, 200, 10


class NegSamplingLoss(nn.Module):
    def forward(self, score, sign):
        return -torch.mean(torch.sigmoid(sign * score))


class LINE(nn.Module):
    def __init__(self, n_users, n_items, embedding_size=16):
        super().__init__()
        self.user_embedding = nn.Embedding(n_users, embedding_size)
        self.item_embedding = nn.Embedding(n_items, embedding_size)
        self.loss_fct = NegSamplingLoss()

    def forward(self, user, item):
        return (self.user_embedding(user) * self.item_embedding(item)).sum(dim=1)

    def calculate_loss(self, user, pos_item, neg_item):
        score_pos = self.forward(user, pos_item)
        score_neg = self.forward(user, neg_item)
        ones = torch.ones(len(user))
        return self.loss_fct(score_pos, ones) + self.loss_fct(score_neg, -ones)

    def full_sort_predict(self):
        return self.user_embedding.weight @ self.item_embedding.weight.T


def interactions():
    user_group = torch.arange(N_USERS) % GROUPS
    item_group = torch.arange(N_ITEMS) % GROUPS
    same = user_group[:, None] == item_group[None, :]
    probability = torch.where(same, 0.7, 0.005)
    liked = torch.rand(N_USERS, N_ITEMS) < probability
    held_out = liked & (torch.rand(N_USERS, N_ITEMS) < 0.3)
    return liked & ~held_out, held_out


train, test = interactions()
users, items = train.nonzero(as_tuple=True)
model = LINE(N_USERS, N_ITEMS)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)

for epoch in range(40):
    total = 0.0
    for batch in torch.randperm(len(users)).split(256):
        negatives = torch.randint(0, N_ITEMS, (len(batch),))
        loss = model.calculate_loss(users[batch], items[batch], negatives)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(batch)
    if (epoch + 1) % 10 == 0:
        print(f"epoch {epoch + 1}: train loss {total / len(users):.4f}")

with torch.no_grad():
    scores = model.full_sort_predict().masked_fill(train, -torch.inf)
    top = scores.topk(10, dim=1).indices
hits = test.gather(1, top).sum(dim=1).float()
has_test = test.any(dim=1)
recall = (hits / test.sum(dim=1).clamp(min=1))[has_test].mean()
print(f"recall@10 {recall:.4f}  precision@10 {hits[has_test].mean() / 10:.4f}")
