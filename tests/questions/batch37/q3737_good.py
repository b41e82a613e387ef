import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Tagger(nn.Module):
    def __init__(self, n_in=10, n_tags=6):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, 32), nn.ReLU(), nn.Linear(32, n_tags))

    def forward(self, x):
        return self.net(x)


class Reader(nn.Module):
    def __init__(self, n_tags=6, dim=16, n_out=6):
        super().__init__()
        self.embed = nn.Embedding(n_tags, dim)
        self.out = nn.Linear(dim, n_out)

    def forward(self, y_p):
        weights = torch.softmax(y_p, dim=1)
        return self.out(weights @ self.embed.weight)


w = torch.randn(10, 6)


def make_data(n):
    x = torch.randn(n, 10)
    return x, (x @ w).argmax(1)


train_loader = DataLoader(TensorDataset(*make_data(2000)), batch_size=50, shuffle=True)
x_test, y_test = make_data(500)

first_model, second_model = Tagger(), Reader()
params = list(first_model.parameters()) + list(second_model.parameters())
optimizer = torch.optim.Adam(params, lr=3e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(12):
    total = 0.0
    for x, y in train_loader:
        y_p = first_model(x)
        loss = criterion(second_model(y_p), y)
        first_model.zero_grad()
        second_model.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    with torch.no_grad():
        acc = (second_model(first_model(x_test)).argmax(1) == y_test).float().mean().item()
    print(f"epoch {epoch}: loss {total / len(train_loader):.3f} test acc {acc:.3f}")
