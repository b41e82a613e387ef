import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class RecordEncoder(nn.Module):
    def __init__(self, vocab_size, emb_size, pre_embs=None, vocab=None):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, emb_size, padding_idx=0)
        if pre_embs is not None and vocab is not None:
            weight_mtx = np.zeros((vocab_size, emb_size))
            wfound = 0
            for i in range(1, vocab_size):
                if vocab[i] in pre_embs:
                    weight_mtx[i] = pre_embs[vocab[i]]
                    wfound += 1
            print(f"found vectors for {wfound} concepts")
            self.embedding = self.embedding.from_pretrained(torch.FloatTensor(weight_mtx), freeze=False)
        self.fc = nn.Sequential(nn.Linear(emb_size, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, codes):
        return self.fc(self.embedding(codes).mean(dim=1))


rng = np.random.default_rng(0)
vocab = ["<pad>"] + [f"code{i}" for i in range(3000)]
topic = rng.integers(0, 2, 3001)
pre_embs = {w: rng.normal(0, 0.6, 16) + (topic[i] * 2 - 1) * 0.8 for i, w in enumerate(vocab) if i > 0}

torch.manual_seed(0)
n = 400
side = torch.randint(0, 2, (n,))
pools = [torch.tensor(np.flatnonzero(topic[1:] == k) + 1) for k in (0, 1)]
codes = torch.stack([
    torch.cat([pools[int(s)][torch.randint(0, len(pools[int(s)]), (7,))], torch.randint(1, 3001, (5,))])
    for s in side
])
model = RecordEncoder(len(vocab), 16, pre_embs, vocab)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(10):
    total = 0.0
    for idx in torch.randperm(200).split(20):
        loss = F.cross_entropy(model(codes[idx]), side[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    with torch.no_grad():
        acc = (model(codes[200:]).argmax(1) == side[200:]).float().mean().item()
    print(f"epoch {epoch} loss {total / 10:.4f} test acc {acc:.3f}")
