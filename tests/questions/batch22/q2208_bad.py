import numpy as np
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence
from torch.utils.data import DataLoader

torch.manual_seed(4)
rng = np.random.default_rng(4)
VOCAB, PAD = 300, 0
GOOD, BAD = np.arange(1, 31), np.arange(31, 61)


def make_reviews(n):
    reviews = []
    for _ in range(n):
        label = int(rng.integers(2))
        length = int(rng.integers(8, 21))
        words = rng.integers(61, VOCAB, length)
        spots = rng.choice(length, 3, replace=False)
        words[spots] = rng.choice(GOOD if label else BAD, 3)
        reviews.append((words, label))
    return reviews


def collate(batch):
    lengths = torch.tensor([len(w) for w, _ in batch])
    tokens = torch.full((len(batch), int(lengths.max())), PAD)
    for i, (w, _) in enumerate(batch):
        tokens[i, :len(w)] = torch.as_tensor(w)
    return tokens, lengths, torch.tensor([y for _, y in batch])


class ReviewRNN(nn.Module):
    def __init__(self, vocab, dim=32, hidden=48, classes=2):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.rnn = nn.LSTM(dim, hidden)
        self.dense = nn.Linear(hidden, hidden // 2)
        self.dropout = nn.Dropout(0.3)
        self.out = nn.Linear(hidden // 2, classes)

    def forward(self, tokens, lengths):
        x = self.emb(tokens)
        x = x.view(x.shape[1], x.shape[0], -1)
        packed = pack_padded_sequence(x, lengths, enforce_sorted=False)
        _, (h, _) = self.rnn(packed)
        h = self.dropout(torch.relu(self.dense(h[-1])))
        return self.out(h)


train_dl = DataLoader(make_reviews(2000), batch_size=32, shuffle=True, collate_fn=collate)
test_dl = DataLoader(make_reviews(600), batch_size=100, collate_fn=collate)
model = ReviewRNN(VOCAB)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(8):
    model.train()
    total = 0.0
    for tokens, lengths, y in train_dl:
        optimizer.zero_grad()
        loss = criterion(model(tokens, lengths), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} train loss {total / len(train_dl):.4f}")

model.eval()
hits = 0
with torch.no_grad():
    for tokens, lengths, y in test_dl:
        hits += (model(tokens, lengths).argmax(1) == y).sum().item()
print(f"test accuracy {hits / 600:.3f}")
