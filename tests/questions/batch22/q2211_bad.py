import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import DataLoader

torch.manual_seed(7)
rng = np.random.default_rng(7)
batch_size, learning_rate, n_epochs = 128, 0.001, 12
vocab_size, embedding_dim, maxlen, padding_idx = 4000, 16, 20, 0

polarity = rng.normal(0, 1, vocab_size) * (rng.random(vocab_size) < 0.35)
freq = 1.0 / (np.arange(vocab_size) + 20.0)
freq[0] = 0.0
freq /= freq.sum()


def load(n):
    x = rng.choice(vocab_size, size=(n, maxlen), p=freq)
    score = polarity[x].sum(axis=1)
    y = (score + rng.normal(0, 0.8, n) > 0).astype("float32")
    short = rng.integers(0, 8, n)
    for i, s in enumerate(short):
        x[i, :s] = padding_idx
    return list(zip(x, y))


train_data, test_data = load(5000), load(3000)
train_dataloader = DataLoader(train_data, batch_size=batch_size, shuffle=True)
test_dataloader = DataLoader(test_data, batch_size=500)


class CBOWFlattenNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_dim, padding_idx=padding_idx)
        self.flatten = nn.Flatten(start_dim=-2, end_dim=-1)
        self.fc = nn.Linear(embedding_dim * maxlen, 1)

    def forward(self, batch):
        score = self.fc(self.flatten(self.embedding(batch)))
        return torch.sigmoid(score.squeeze(dim=1))


def evaluate(model, loader):
    model.eval()
    loss = hits = count = 0
    with torch.no_grad():
        for sentences, labels in loader:
            score = model(sentences)
            loss += loss_function(score, labels).item() * len(labels)
            hits += ((score > 0.5) == labels).sum().item()
            count += len(labels)
    return loss / count, hits / count


model = CBOWFlattenNet()
loss_function = nn.BCELoss()
optimizer = optim.RMSprop(model.parameters(), lr=learning_rate, alpha=0.9, eps=1e-7)

for epoch in range(n_epochs):
    model.train()
    for sentences, labels in train_dataloader:
        optimizer.zero_grad()
        loss = loss_function(model(sentences), labels)
        loss.backward()
        optimizer.step()
    if epoch % 3 == 2:
        a, b = evaluate(model, train_dataloader), evaluate(model, test_dataloader)
        print(f"epoch {epoch}: train loss {a[0]:.4f} acc {a[1]:.3f} | test loss {b[0]:.4f} acc {b[1]:.3f}")

print(f"final test accuracy {evaluate(model, test_dataloader)[1]:.3f}")
