import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(16)

USERS, ITEMS, DIM = 60, 80, 8
taste = torch.randn(USERS, DIM)
style = torch.randn(ITEMS, DIM)
users = torch.randint(0, USERS, (6000,))
items = torch.randint(0, ITEMS, (6000,))
clicks = ((taste[users] * style[items]).sum(1) > 0).float()
pretrained_items = 0.3 * torch.randn(ITEMS, DIM)
pretrained_users = 0.3 * torch.randn(USERS, DIM)


class ContextModel(nn.Module):
    def __init__(self, user_vectors, item_vectors):
        super().__init__()
        self.user_embedding = nn.Embedding.from_pretrained(user_vectors)
        self.item_embedding = nn.Embedding.from_pretrained(item_vectors)
        self.mlp = nn.Sequential(nn.Linear(3 * DIM, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, user, item):
        u = self.user_embedding(user)
        i = self.item_embedding(item)
        return self.mlp(torch.cat([u, i, u * i], dim=1)).squeeze(1)


train = TensorDataset(users[:5000], items[:5000], clicks[:5000])
loader = DataLoader(train, batch_size=100, shuffle=True)
model = ContextModel(pretrained_users, pretrained_items)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
criterion = nn.BCEWithLogitsLoss()

for epoch in range(15):
    total = 0.0
    for user, item, click in loader:
        optimizer.zero_grad()
        loss = criterion(model(user, item), click)
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 2:
        with torch.no_grad():
            guess = (model(users[5000:], items[5000:]) > 0).float()
        acc = (guess == clicks[5000:]).float().mean().item()
        print(f"epoch {epoch + 1:2d}  loss {total / len(loader):.4f}  test accuracy {acc:.3f}")
