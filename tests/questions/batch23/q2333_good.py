import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)
VOCAB, PAD, MAX_LEN = 200, 0, 120
POSITIVE, NEGATIVE = (1, 20), (20, 39)


def make_reviews(n):
    ids = torch.full((n, MAX_LEN), PAD)
    labels = torch.randint(0, 2, (n,))
    for i in range(n):
        length = int(torch.randint(6, 30, (1,)))
        words = torch.randint(39, VOCAB, (length,))
        k = max(2, length // 4)
        spots = torch.randperm(length)[:k]
        low, high = POSITIVE if labels[i] else NEGATIVE
        words[spots] = torch.randint(low, high, (k,))
        ids[i, :length] = words
    return TensorDataset(ids, labels.float())


train_loader = DataLoader(make_reviews(1600), batch_size=32, shuffle=True)
val_loader = DataLoader(make_reviews(400), batch_size=100)


class SentimentLSTM(nn.Module):
    def __init__(self, vocab, dim, hidden):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, ids):
        emb = self.embedding(ids)
        lengths = (ids != PAD).sum(1).cpu()
        packed = pack_padded_sequence(emb, lengths, batch_first=True, enforce_sorted=False)
        _, (h_n, _) = self.lstm(packed)
        return self.fc(h_n[-1]).squeeze(1)


model = SentimentLSTM(VOCAB, 32, 48)
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(5):
    model.train()
    running = 0.0
    for ids, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(ids), labels)
        loss.backward()
        optimizer.step()
        running += loss.item()

    model.eval()
    correct = 0
    with torch.no_grad():
        for ids, labels in val_loader:
            pred = torch.sigmoid(model(ids)) > 0.5
            correct += (pred == labels.bool()).sum().item()
    print(f"epoch {epoch} train loss {running / len(train_loader):.4f} val acc {correct / len(val_loader.dataset):.4f}")
