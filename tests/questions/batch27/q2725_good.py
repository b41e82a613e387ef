import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(0)

NUM_USERS, NUM_ITEMS, DIM = 150, 120, 16
taste = torch.randn(NUM_USERS, 6) @ torch.randn(6, NUM_ITEMS)
order = taste.argsort(dim=1, descending=True)
train_set, test_set = [], []
for u in range(NUM_USERS):
    liked = order[u, :20][torch.randperm(20)].tolist()
    n_test = int(torch.randint(1, 5, (1,)))
    test_set.append(liked[:n_test])
    train_set.append(liked[n_test:16])


class BPRMF(nn.Module):
    def __init__(self):
        super().__init__()
        self.user = nn.Embedding(NUM_USERS, DIM)
        self.item = nn.Embedding(NUM_ITEMS, DIM)
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.item.weight, std=0.1)

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(-1)


def recall_at_k(actual, predicted, topk):
    total = 0.0
    for u in range(len(actual)):
        total += len(set(actual[u]) & set(predicted[u][:topk])) / len(actual[u])
    return total / len(actual)


def idcg_k(k):
    res = sum([1.0 / math.log(i + 2, 2) for i in range(k)])
    return res if res else 1.0


def ndcg_k(actual, predicted, topk):
    res = 0.0
    for user_id in range(len(actual)):
        k = min(topk, len(actual[user_id]))
        idcg = idcg_k(k)
        dcg = sum([int(predicted[user_id][j] in set(actual[user_id])) / math.log(j + 2, 2) for j in range(topk)])
        res += dcg / idcg
    return res / float(len(actual))


pairs = torch.tensor([(u, i) for u in range(NUM_USERS) for i in train_set[u]])
model = BPRMF()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2, weight_decay=1e-5)

for epoch in range(1, 21):
    total = 0.0
    batches = pairs[torch.randperm(len(pairs))].split(256)
    for batch in batches:
        u, pos = batch[:, 0], batch[:, 1]
        neg = torch.randint(0, NUM_ITEMS, pos.shape)
        optimizer.zero_grad()
        loss = -F.logsigmoid(model(u, pos) - model(u, neg)).mean()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 5 == 0:
        with torch.no_grad():
            scores = model.user.weight @ model.item.weight.t()
            for u in range(NUM_USERS):
                scores[u, train_set[u]] = -1e9
            top = scores.topk(10, dim=1).indices.tolist()
        print(f'epoch {epoch} loss {total / len(batches):.4f} recall@10 {recall_at_k(test_set, top, 10):.4f} '
              f'ndcg@10 {ndcg_k(test_set, top, 10):.4f}')
