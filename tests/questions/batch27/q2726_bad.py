import numpy as np
import torch
import torch.nn as nn

torch.set_num_threads(1)
torch.manual_seed(0)
np.random.seed(0)

USERS, ITEMS, MAXLEN, DIM = 200, 300, 12, 24
step = np.random.randint(1, 20, size=40)
user_train, user_test = {}, {}
for u in range(1, USERS + 1):
    cur, seq = np.random.randint(1, ITEMS + 1), []
    for _ in range(np.random.randint(8, 16)):
        seq.append(cur)
        cur = (cur + step[cur % 40]) % ITEMS + 1 if np.random.rand() < 0.9 else np.random.randint(1, ITEMS + 1)
    user_train[u], user_test[u] = seq[:-1], [seq[-1]]


class SASRec(nn.Module):
    def __init__(self):
        super().__init__()
        self.item_emb = nn.Embedding(ITEMS + 1, DIM, padding_idx=0)
        self.pos_emb = nn.Embedding(MAXLEN, DIM)
        self.attn_norm = nn.LayerNorm(DIM)
        self.attn = nn.MultiheadAttention(DIM, 1, batch_first=True)
        self.ffn = nn.Sequential(nn.LayerNorm(DIM), nn.Linear(DIM, DIM), nn.ReLU(), nn.Linear(DIM, DIM))
        self.last_norm = nn.LayerNorm(DIM)

    def log2feats(self, log_seqs):
        x = self.item_emb(log_seqs) * DIM ** 0.5 + self.pos_emb(torch.arange(MAXLEN))
        mask = torch.triu(torch.ones(MAXLEN, MAXLEN, dtype=torch.bool), diagonal=1)
        q = self.attn_norm(x)
        x = x + self.attn(q, x, x, attn_mask=mask, need_weights=False)[0]
        return self.last_norm(x + self.ffn(x))

    def forward(self, log_seqs, pos, neg):
        feats = self.log2feats(log_seqs)
        return (feats * self.item_emb(pos)).sum(-1), (feats * self.item_emb(neg)).sum(-1)

    def predict(self, log_seqs, item_idx):
        final = self.log2feats(log_seqs)[:, -1]
        return (self.item_emb(item_idx) @ final.unsqueeze(-1)).squeeze(-1)


def sample(users):
    seq = np.zeros((len(users), MAXLEN), dtype=np.int64)
    pos, neg = seq.copy(), seq.copy()
    for k, u in enumerate(users):
        nxt, idx = user_train[u][-1], MAXLEN - 1
        for i in reversed(user_train[u][:-1]):
            seq[k, idx], pos[k, idx] = i, nxt
            neg[k, idx] = np.random.randint(1, ITEMS + 1)
            nxt, idx = i, idx - 1
            if idx == -1:
                break
    return torch.from_numpy(seq), torch.from_numpy(pos), torch.from_numpy(neg)


@torch.no_grad()
def evaluate(model):
    NDCG, HT = 0.0, 0.0
    for u in range(1, USERS + 1):
        seq = np.zeros(MAXLEN, dtype=np.int64)
        hist = user_train[u][-MAXLEN:]
        seq[-len(hist):] = hist
        rated = set(user_train[u])
        item_idx = []
        for _ in range(100):
            t = np.random.randint(1, ITEMS + 1)
            while t in rated or t == user_test[u][0]:
                t = np.random.randint(1, ITEMS + 1)
            item_idx.append(t)
        item_idx = item_idx + [user_test[u][0]]
        predictions = -model.predict(torch.from_numpy(seq)[None], torch.tensor(item_idx)[None])[0]
        rank = predictions.argsort().argsort()[0].item()
        if rank < 10:
            NDCG += 1 / np.log2(rank + 2)
            HT += 1
    return NDCG / USERS, HT / USERS


model = SASRec()
nn.init.normal_(model.item_emb.weight, std=0.1)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, betas=(0.9, 0.98))
bce = nn.BCEWithLogitsLoss()
for epoch in range(1, 61):
    model.train()
    total = 0.0
    for users in np.array_split(np.random.permutation(USERS) + 1, 4):
        seq, pos, neg = sample(users.tolist())
        pos_logits, neg_logits = model(seq, pos, neg)
        idx = pos != 0
        optimizer.zero_grad()
        loss = bce(pos_logits[idx], torch.ones(int(idx.sum()))) + bce(neg_logits[idx], torch.zeros(int(idx.sum())))
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 20 == 0:
        model.eval()
        ndcg, hr = evaluate(model)
        print(f'epoch {epoch} loss {total / 4:.4f} test (NDCG@10: {ndcg:.4f}, HR@10: {hr:.4f})')
