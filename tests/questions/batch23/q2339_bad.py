import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(7)
ITEMS, USERS, HIST, NEG, DIM, TOPICS = 400, 3000, 10, 20, 32, 10
topic_of = torch.randint(0, TOPICS, (ITEMS,))


def make_users(n):
    taste = torch.randint(0, TOPICS, (n,))
    hist = torch.empty(n, HIST, dtype=torch.long)
    nxt = torch.empty(n, dtype=torch.long)
    for i in range(n):
        own = (topic_of == taste[i]).nonzero().flatten()
        hist[i] = own[torch.randint(0, len(own), (HIST,))]
        stray = torch.rand(HIST) < 0.3
        hist[i, stray] = torch.randint(0, ITEMS, (int(stray.sum()),))
        nxt[i] = own[torch.randint(0, len(own), (1,))]
    return hist, nxt


class InterestModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.item_embedding = nn.Embedding(ITEMS, DIM)
        nn.init.normal_(self.item_embedding.weight, std=0.1)
        self.w1 = nn.Linear(DIM, DIM, bias=False)
        self.w2 = nn.Linear(DIM, 1, bias=False)

    def user_tower(self, hist):
        x = self.item_embedding(hist)
        att = torch.softmax(self.w2(torch.tanh(self.w1(x))), dim=1)
        return (att * x).sum(dim=1)

    def item_tower(self, pos, neg):
        items = torch.cat([pos.unsqueeze(1), neg], dim=1)
        return self.item_embedding(items)

    def forward(self, hist, pos, neg):
        user = self.user_tower(hist).unsqueeze(1)
        item = self.item_tower(pos, neg)
        return torch.mul(user, item).sum(dim=1)


train_hist, train_next = make_users(USERS)
test_hist, test_next = make_users(600)
model = InterestModel()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(25):
    order = torch.randperm(USERS)
    total = 0.0
    for k in range(0, USERS, 100):
        idx = order[k:k + 100]
        neg = torch.randint(0, ITEMS, (len(idx), NEG))
        out = model(train_hist[idx], train_next[idx], neg)
        target = torch.zeros(len(idx), dtype=torch.long)
        loss = F.cross_entropy(out, target)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    if epoch % 6 == 0:
        print(f"epoch {epoch:2d}  loss {total / USERS:.4f}")

model.eval()
with torch.no_grad():
    scores = model.user_tower(test_hist) @ model.item_embedding.weight.T
    top = scores.topk(40, dim=1).indices
    hit = (top == test_next[:, None]).any(dim=1).float().mean().item()
print(f"final loss {total / USERS:.4f}  hit@40 {hit:.3f}  (random {40 / ITEMS:.3f})")
