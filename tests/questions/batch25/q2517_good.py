import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Subset, TensorDataset

SEED = 42
EPOCHS = 6
N_FOLDS = 5
torch.manual_seed(SEED)
np.random.seed(SEED)


def make_reviews(n=600, vocab=300, length=20):
    g = torch.Generator().manual_seed(SEED)
    tokens = torch.randint(1, vocab, (n, length), generator=g)
    polarity = torch.randn(vocab, generator=g)
    score = polarity[tokens].sum(1) + 2.5 * torch.randn(n, generator=g)
    return TensorDataset(tokens, (score > 0).long())


class SentimentClassifier(nn.Module):
    def __init__(self, vocab=300, dim=64, n_classes=2):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.body = nn.Sequential(nn.Linear(dim, 128), nn.ReLU(), nn.Dropout(0.1))
        self.out = nn.Linear(128, n_classes)

    def forward(self, tokens):
        return self.out(self.body(self.emb(tokens).mean(1)))


def train_epoch(model, loader, loss_fn, optimizer):
    model.train()
    correct, total, losses = 0, 0, []
    for tokens, label in loader:
        out = model(tokens)
        loss = loss_fn(out, label)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        correct += (out.argmax(1) == label).sum().item()
        total += len(label)
    return correct / total, np.mean(losses)


def eval_model(model, loader, loss_fn):
    model.eval()
    correct, total, losses = 0, 0, []
    with torch.no_grad():
        for tokens, label in loader:
            out = model(tokens)
            losses.append(loss_fn(out, label).item())
            correct += (out.argmax(1) == label).sum().item()
            total += len(label)
    return correct / total, np.mean(losses)


data = make_reviews()
order = np.random.permutation(len(data))
parts = np.array_split(order, N_FOLDS)
loss_fn = nn.CrossEntropyLoss()
scores = []

for fold in range(N_FOLDS):
    val_idx = parts[fold]
    train_idx = np.concatenate([p for k, p in enumerate(parts) if k != fold])
    train_loader = DataLoader(Subset(data, train_idx.tolist()), batch_size=16, shuffle=True)
    val_loader = DataLoader(Subset(data, val_idx.tolist()), batch_size=64)
    model = SentimentClassifier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for epoch in range(EPOCHS):
        train_acc, train_loss = train_epoch(model, train_loader, loss_fn, optimizer)
        val_acc, val_loss = eval_model(model, val_loader, loss_fn)
    scores.append(val_acc)
    print(f"fold {fold + 1} train acc {train_acc:.3f} loss {train_loss:.3f}  val acc {val_acc:.3f} loss {val_loss:.3f}")

print(f"mean validation accuracy {np.mean(scores):.3f}")
