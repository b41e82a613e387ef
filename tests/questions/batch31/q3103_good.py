import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(1)
VOCAB, PAD = 20, 0
ACCUM = 8


class TinyLM(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        return self.out(self.rnn(self.tok(ids))[0])


def sample():
    if torch.rand(()) < 0.5:
        n, step = 2, 3
        start = torch.randint(1, VOCAB, (1,)).item()
        seq = [start] + torch.randint(1, VOCAB, (n,)).tolist()
    else:
        n, step = 30, torch.randint(1, 4, (1,)).item()
        start = torch.randint(1, VOCAB, (1,)).item()
        seq = [(start - 1 + step * k) % (VOCAB - 1) + 1 for k in range(n + 1)]
    return torch.tensor(seq)


def collate(items):
    length = max(len(s) for s in items)
    ids = torch.full((len(items), length), PAD)
    labels = torch.full((len(items), length), -100)
    for i, s in enumerate(items):
        ids[i, :len(s)] = s
        labels[i, :len(s)] = s
    return ids[:, :-1], labels[:, 1:]


data = [sample() for _ in range(640)]
loader = torch.utils.data.DataLoader(data, batch_size=1, shuffle=True, collate_fn=collate)
model = TinyLM()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
loss_fn = nn.CrossEntropyLoss(ignore_index=-100)

for epoch in range(3):
    running, updates = 0.0, 0
    num_tokens = 0
    losses = 0.0
    for i, (ids, labels) in enumerate(loader):
        logits = model(ids)
        n = (labels != -100).sum()
        loss = loss_fn(logits.flatten(0, 1), labels.flatten()) * n
        losses = losses + loss
        num_tokens += n
        if (i + 1) % ACCUM == 0:
            loss = losses / num_tokens
            running += loss.item()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            updates += 1
            losses, num_tokens = 0.0, 0
    print(f"epoch {epoch} train loss {running / updates:.4f} ({updates} updates)")

with torch.no_grad():
    ids, labels = collate([sample() for _ in range(200)])
    print("eval loss per token", F.cross_entropy(model(ids).flatten(0, 1), labels.flatten(), ignore_index=-100).item())
