import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(8)
torch.set_num_threads(1)

VOCAB = 80


class ConvSentiment(nn.Module):
    def __init__(self, emb=16, hid=24):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, emb)
        self.conv = nn.Conv1d(emb, hid, 3, padding=1)
        self.fc = nn.Linear(hid, 2)

    def forward(self, x):
        h = torch.relu(self.conv(self.emb(x).transpose(1, 2)))
        return self.fc(h.max(dim=2).values)


def make_reviews(n_neg, n_pos):
    y = torch.cat([torch.zeros(n_neg), torch.ones(n_pos)]).long()
    x = torch.randint(0, VOCAB, (len(y), 14))
    cue = torch.rand(len(y), 14) < torch.where(y == 1, 0.10, 0.22)[:, None]
    words = torch.where(y[:, None] == 1, torch.randint(0, 8, x.shape), torch.randint(8, 16, x.shape))
    return torch.where(cue, words, x), y


tx, ty = make_reviews(600, 600)
train_loader = DataLoader(TensorDataset(tx, ty), batch_size=64, shuffle=True)
vx, vy = make_reviews(320, 328)
test_loader = DataLoader(TensorDataset(vx, vy), batch_size=64)

model = ConvSentiment()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
target_accuracy = 0.80

for epoch in range(8):
    model.train()
    train_losses = []
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        train_losses.append(loss.item())

    model.eval()
    losses, accs = [], []
    with torch.no_grad():
        for x, y in test_loader:
            out = model(x)
            losses.append(criterion(out, y).item())
            accs.append((out.argmax(1) == y).float().mean().item())
    test_loss, test_acc = np.mean(losses), np.mean(accs)
    print(f"epoch {epoch}  train loss {np.mean(train_losses):.4f}  test loss {test_loss:.4f}  test acc {test_acc:.4f}")
    if test_acc >= target_accuracy:
        print("target accuracy reached")
        break
