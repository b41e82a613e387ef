import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class NewsClassifier(nn.Module):
    def __init__(self, vocab_size=60, emb_size=24, hidden_size=24):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, emb_size)
        self.lstm = nn.LSTM(emb_size, hidden_size, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(0.2)
        self.lin1 = nn.Linear(hidden_size * 2, hidden_size)
        self.lin2 = nn.Linear(hidden_size, 1)

    def forward(self, x):
        embeds = self.emb(x)
        lstm_out, (h_n, c_n) = self.lstm(embeds)
        feats = torch.cat([h_n[0], h_n[1]], dim=1)
        out = torch.relu(self.lin1(self.dropout(feats)))
        return self.lin2(out).squeeze(1)


def make_articles(n):
    tokens = torch.randint(0, 60, (n, 45))
    labels = (tokens[:, 0] % 2 == 0).float()
    return tokens, labels


train_loader = DataLoader(TensorDataset(*make_articles(1500)), batch_size=50, shuffle=True)
test_tokens, test_labels = make_articles(500)

model = NewsClassifier()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)

for epoch in range(6):
    model.train()
    total = 0.0
    for tokens, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(tokens), labels)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        acc = ((model(test_tokens) > 0).float() == test_labels).float().mean().item()
    print(f"epoch {epoch}: loss {total / len(train_loader):.4f} test acc {acc:.3f}")
