import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)

WORDS = 300
LENGTH = 6
weights = torch.rand(WORDS) * 2
texts = torch.randint(0, WORDS, (3000, LENGTH))
scores = weights[texts].mean(1) + 0.05 * torch.randn(3000)
train = TensorDataset(texts[:2600], scores[:2600])
test_x, test_y = texts[2600:], scores[2600:]
loader = DataLoader(train, batch_size=32, shuffle=True)


class Scorer(nn.Module):
    def __init__(self, words, dim=16, hidden=32):
        super().__init__()
        self.embed = nn.Embedding(words, dim)
        self.fc = nn.Linear(dim, hidden, bias=False)
        self.out = nn.Linear(hidden, 1, bias=False)

    def forward(self, ids):
        e = self.embed(ids).mean(1)
        r = torch.relu(self.fc(e))
        return self.out(r).squeeze(1)


model = Scorer(WORDS)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.MSELoss()

for epoch in range(20):
    total = 0.0
    for ids, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(ids), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    if (epoch + 1) % 4 == 0:
        print(f"epoch {epoch + 1:2d}  train loss {total / len(loader):.4f}")

model.eval()
with torch.no_grad():
    pred = model(test_x)
    print("test mse %.4f   variance of the targets %.4f" % (criterion(pred, test_y).item(), test_y.var().item()))
    print("predictions from %.3f to %.3f" % (pred.min().item(), pred.max().item()))
