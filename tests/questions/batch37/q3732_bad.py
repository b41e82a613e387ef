import torch
import torch.nn as nn
from torch.utils.data import DataLoader

torch.manual_seed(0)
VOCAB, MAXLEN = 200, 30
word_score = torch.randn(VOCAB)


class SentenceEncoder(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim, padding_idx=0)
        self.proj = nn.Sequential(nn.Linear(dim, dim), nn.GELU())
        self.score = nn.Linear(dim, 1)

    def forward(self, input_ids, attention_mask):
        hidden = self.proj(self.emb(input_ids)) * attention_mask.unsqueeze(-1)
        pooled = hidden.mean(dim=1)
        return self.score(pooled).squeeze(1)


def make_sentences(n):
    items = []
    for _ in range(n):
        length = int(torch.randint(2, MAXLEN + 1, (1,)))
        ids = torch.randint(1, VOCAB, (length,))
        items.append((ids, word_score[ids].mean() * 3))
    return items


def collate(batch):
    ids = nn.utils.rnn.pad_sequence([b[0] for b in batch], batch_first=True)
    ids = nn.functional.pad(ids, (0, MAXLEN - ids.shape[1]))
    return ids, (ids != 0).float(), torch.stack([b[1] for b in batch])


train_loader = DataLoader(make_sentences(2000), batch_size=50, shuffle=True, collate_fn=collate)
test_ids, test_mask, test_y = collate(make_sentences(400))

model = SentenceEncoder()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)

for epoch in range(20):
    model.train()
    total = 0.0
    for ids, mask, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(ids, mask), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 4 == 3:
        model.eval()
        with torch.no_grad():
            test = criterion(model(test_ids, test_mask), test_y).item()
        print(f"epoch {epoch + 1}: train {total / len(train_loader):.4f} test {test:.4f}")
