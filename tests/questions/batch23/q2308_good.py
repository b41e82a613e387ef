import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
torch.set_num_threads(1)

VOCAB, TAGS, LENGTH = 60, 5, 14


def make_corpus(n):
    words = torch.randint(2, VOCAB, (n, LENGTH))
    tags = torch.zeros(n, LENGTH, dtype=torch.long)
    name = words < 9
    place = (words >= 9) & (words < 14)
    tags[name] = 1
    tags[place] = 3
    after = torch.zeros_like(tags, dtype=torch.bool)
    after[:, 1:] = name[:, :-1] & (words[:, 1:] % 2 == 0) & (tags[:, 1:] == 0)
    tags[after] = 2
    after[:, 1:] = place[:, :-1] & (words[:, 1:] % 3 == 0) & (tags[:, 1:] == 0)
    tags[after] = 4
    return TensorDataset(words, tags)


class Tagger(nn.Module):
    def __init__(self, emb=32, hidden=32):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, emb)
        self.lstm = nn.LSTM(emb, hidden, bidirectional=True)
        self.drop = nn.Dropout(0.2)
        self.out = nn.Linear(2 * hidden, TAGS)

    def forward(self, words):
        x, _ = self.lstm(self.emb(words))
        return self.out(self.drop(x))


def f1_score(gold, pred):
    gold, pred = torch.tensor(gold), torch.tensor(pred)
    hit = ((gold == pred) & (gold > 0)).sum().item()
    precision = hit / max((pred > 0).sum().item(), 1)
    recall = hit / max((gold > 0).sum().item(), 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    return f1, (gold == pred).float().mean().item()


def evaluate(model, loader):
    model.eval()
    gold, pred = [], []
    with torch.no_grad():
        for words, tags in loader:
            best = model(words.t()).argmax(-1)
            pred.extend(best.t().reshape(-1).tolist())
            gold.extend(tags.reshape(-1).tolist())
    return f1_score(gold, pred)


train = DataLoader(make_corpus(800), batch_size=8, shuffle=True)
dev = DataLoader(make_corpus(200), batch_size=8)
model = Tagger()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(6):
    model.train()
    total = 0.0
    for words, tags in train:
        logits = model(words.t())
        loss = criterion(logits.reshape(-1, TAGS), tags.t().reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        total += loss.item()
    f1, acc = evaluate(model, dev)
    print(f"epoch {epoch} loss {total / len(train):.4f} dev f1 {f1:.3f} acc {acc:.3f}")
