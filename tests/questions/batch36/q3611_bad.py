import torch
import torch.nn as nn

torch.manual_seed(10)
device, dtype = torch.device("cpu"), torch.float64
N_USERS, N_ITEMS = 60, 40


class RatingModel(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.user_bias = nn.Parameter(torch.zeros(N_USERS)).to(device, dtype)
        self.item_bias = nn.Parameter(torch.zeros(N_ITEMS)).to(device, dtype)
        self.user = nn.Embedding(N_USERS, dim, dtype=dtype)
        self.item = nn.Embedding(N_ITEMS, dim, dtype=dtype)
        nn.init.normal_(self.user.weight, std=0.05)
        nn.init.normal_(self.item.weight, std=0.05)

    def forward(self, u, i):
        affinity = (self.user(u) * self.item(i)).sum(-1)
        return affinity + self.user_bias[u] + self.item_bias[i]


true_user = torch.randn(N_USERS, dtype=dtype)
true_item = torch.randn(N_ITEMS, dtype=dtype)
users = torch.randint(0, N_USERS, (3000,))
items = torch.randint(0, N_ITEMS, (3000,))
ratings = true_user[users] + true_item[items] + 0.2 * torch.randn(3000, dtype=dtype)

model = RatingModel().to(device)
print("state dict keys:", list(model.state_dict()))
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, weight_decay=1e-3)
loss_fn = nn.MSELoss()

for epoch in range(8):
    perm = torch.randperm(2400)
    total = 0.0
    for k in range(0, 2400, 120):
        idx = perm[k:k + 120]
        pred = model(users[idx], items[idx])
        loss = loss_fn(pred, ratings[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    with torch.no_grad():
        test = loss_fn(model(users[2400:], items[2400:]), ratings[2400:]).item()
    print(f"epoch {epoch} train mse {total / 20:.4f} test mse {test:.4f}")
