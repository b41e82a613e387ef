import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)
rng = np.random.default_rng(2)

USERS, ITEMS, RANK = 600, 150, 4
p, q = rng.normal(size=(USERS, RANK)), rng.normal(size=(ITEMS, RANK))
bias = rng.normal(scale=0.5, size=(1, ITEMS))
full = np.clip(np.rint(3.3 + bias + 0.55 * p @ q.T + 0.3 * rng.normal(size=(USERS, ITEMS))), 1, 5)
seen = rng.random((USERS, ITEMS)) < 0.22
held = ~seen & (rng.random((USERS, ITEMS)) < 0.06)
ratings = torch.from_numpy((full * seen).astype(np.float32))
truth, held = torch.from_numpy(full.astype(np.float32)), torch.from_numpy(held)


class Autorec(nn.Module):
    def __init__(self, num_items, hidden=40, dropout=0.1):
        super().__init__()
        self.encoder = nn.Linear(num_items, hidden)
        self.dropout = nn.Dropout(dropout)
        self.decoder = nn.Linear(hidden, num_items)

    def forward(self, x):
        return self.decoder(self.dropout(torch.sigmoid(self.encoder(x))))


def training_loss(predicted, r):
    return F.mse_loss(predicted, r)


model = Autorec(ITEMS)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=1e-3)

for epoch in range(200):
    model.train()
    total = 0.0
    for idx in torch.randperm(USERS).split(50):
        batch = ratings[idx]
        loss = training_loss(model(batch), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    if epoch % 50 == 49:
        print(f"epoch {epoch + 1} loss {total / USERS:.4f}")

model.eval()
with torch.no_grad():
    predicted = model(ratings)
    rmse = (predicted - truth)[held].pow(2).mean().sqrt().item()
    average = truth[held].mean().item()
    guess = (ratings.sum() / (ratings > 0).sum()).item()
print(f"held-out RMSE {rmse:.4f} (always the mean rating: {(truth[held] - guess).pow(2).mean().sqrt().item():.4f})")
print(f"mean predicted rating {predicted[held].mean().item():.3f} mean true rating {average:.3f}")
