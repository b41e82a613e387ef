import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(10)


class SpamClassifier(nn.Module):
    def __init__(self, vocab=120, dim=32):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab, dim)
        self.trf = nn.Sequential(nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, dim))
        self.out_head = nn.Linear(dim, 2)

    def forward(self, ids):
        h = self.tok_emb(ids)
        h = h + self.trf(h)
        return self.out_head(h.mean(dim=1))


def messages(n):
    label = torch.randint(0, 2, (n,))
    ids = torch.randint(20, 120, (n, 16))
    for i in range(n):
        ids[i, torch.randperm(16)[:4]] = torch.randint(0, 10, (4,)) + 10 * label[i]
    return TensorDataset(ids, label)


def calc_accuracy(loader, model):
    model.eval()
    hits = total = 0
    with torch.no_grad():
        for ids, label in loader:
            hits += (model(ids).argmax(-1) == label).sum().item()
            total += len(label)
    return hits / total


def train_classifier_simple(model, train_loader, val_loader, optimizer, num_epochs, accumulation_steps):
    updates = 0
    for epoch in range(num_epochs):
        model.train()
        optimizer.zero_grad()
        seen = 0.0
        for batch_idx, (ids, label) in enumerate(train_loader):
            loss = F.cross_entropy(model(ids), label)
            loss = loss / accumulation_steps
            loss.backward()
            seen += loss.item() * accumulation_steps
            if (batch_idx + 1) % accumulation_steps == 0 or (batch_idx + 1) == len(train_loader):
                optimizer.step()
                optimizer.zero_grad()
                updates += 1
        print(f"epoch {epoch + 1} updates {updates} loss {seen / len(train_loader):.4f}"
              f" val acc {calc_accuracy(val_loader, model):.3f}")


train_loader = DataLoader(messages(96), batch_size=12, shuffle=True)
val_loader = DataLoader(messages(400), batch_size=50)
model = SpamClassifier()
optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.5)
train_classifier_simple(model, train_loader, val_loader, optimizer, num_epochs=30, accumulation_steps=8)
