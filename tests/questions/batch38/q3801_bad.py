import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Dice(nn.Module):
    def __init__(self, n_units, eps=1e-8):
        super().__init__()
        self.bn = nn.BatchNorm1d(n_units, eps=eps)
        self.alpha = torch.zeros((n_units,))

    def forward(self, x):
        gate = torch.sigmoid(self.bn(x))
        return gate * x + (1 - gate) * self.alpha * x


class CTRNet(nn.Module):
    def __init__(self, n_fields=8, vocab=50, dim=4, hidden=2):
        super().__init__()
        self.emb = nn.Embedding(n_fields * vocab, dim)
        self.register_buffer("offset", torch.arange(n_fields) * vocab)
        self.fc1 = nn.Linear(n_fields * dim, hidden)
        self.act1 = Dice(hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.act2 = Dice(hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        h = self.emb(x + self.offset).flatten(1)
        h = self.act1(self.fc1(h))
        h = self.act2(self.fc2(h))
        return self.out(h).squeeze(1)


torch.manual_seed(0)
x = torch.randint(0, 50, (4000, 8))
taste = torch.randn(8, 50)
score = sum(taste[i][x[:, i]] for i in range(8)) + taste[0][x[:, 0]] * taste[1][x[:, 1]] * 2
y = (score > 0).float()
loader = DataLoader(TensorDataset(x, y), batch_size=200, shuffle=True)

model = CTRNet()
start = model.act1.alpha.detach().clone()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(15):
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} logloss {total / len(loader):.4f}")
print("alpha moved by", float((model.act1.alpha.detach() - start).abs().sum()))
print("saved tensors:", [k for k in model.state_dict() if "alpha" in k])
