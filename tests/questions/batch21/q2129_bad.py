import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)
rng = np.random.default_rng(3)

N_USER, N_ITEM, DIM, K = 300, 200, 24, 8


def make_ratings(n):
    p = rng.normal(size=(N_USER, 4)) * 0.55
    q = rng.normal(size=(N_ITEM, 4)) * 0.55
    bu = rng.normal(size=N_USER) * 0.3
    bi = rng.normal(size=N_ITEM) * 0.3
    u = rng.integers(0, N_USER, n)
    i = rng.integers(0, N_ITEM, n)
    r = 3.5 + bu[u] + bi[i] + (p[u] * q[i]).sum(1) + rng.normal(size=n) * 0.1
    return torch.as_tensor(u), torch.as_tensor(i), torch.as_tensor(r, dtype=torch.float32)


class FMHead(nn.Module):
    def __init__(self, dim, k):
        super().__init__()
        self.linear = nn.Linear(dim, 1)
        self.V = nn.Parameter(torch.empty(dim, k).uniform_(-0.05, 0.05))

    def forward(self, x):
        first = self.linear(x)
        square_of_sum = (x @ self.V).pow(2)
        sum_of_square = x.pow(2) @ self.V.pow(2)
        return first + 0.5 * torch.sum(square_of_sum - sum_of_square)


class ReviewRec(nn.Module):
    def __init__(self):
        super().__init__()
        self.user = nn.Embedding(N_USER, DIM)
        self.item = nn.Embedding(N_ITEM, DIM)
        nn.init.normal_(self.user.weight, std=0.3)
        nn.init.normal_(self.item.weight, std=0.3)
        self.drop = nn.Dropout(0.1)
        self.head = FMHead(2 * DIM, K)

    def forward(self, u, i):
        x = torch.cat([self.user(u), self.item(i)], dim=1)
        return self.head(self.drop(x)).squeeze(1)


users, items, ratings = make_ratings(16000)
n_train = 13000
model = ReviewRec()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=1e-5)

for epoch in range(25):
    model.train()
    total = 0.0
    perm = torch.randperm(n_train)
    for b in range(0, n_train, 128):
        idx = perm[b:b + 128]
        pred = model(users[idx], items[idx])
        loss = F.mse_loss(pred, ratings[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    if epoch % 6 == 0:
        print(f"epoch {epoch} train mse {total / n_train:.4f}")

model.eval()
with torch.no_grad():
    pred = torch.cat([model(users[b:b + 128], items[b:b + 128]) for b in range(n_train, 16000, 128)])
    test = F.mse_loss(pred, ratings[n_train:]).item()
print(f"train mse {total / n_train:.4f}")
print(f"test mse {test:.4f} (rating variance {ratings.var().item():.4f})")
