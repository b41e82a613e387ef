import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(7)
torch.set_num_threads(1)


class EuclidesModel(nn.Module):
    def __init__(self, dim=20, num_classes=6):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.fc = nn.Linear(32, num_classes)

    def logits(self, x):
        return self.fc(self.body(x))

    def forward(self, x):
        features = self.body(x)
        predictions = F.softmax(self.fc(features), dim=0)
        return predictions, features


centers = torch.randn(6, 20)


def make_set(n):
    y = torch.randint(0, 6, (n,))
    return TensorDataset(centers[y] * 0.8 + torch.randn(n, 20), y)


train_loader = DataLoader(make_set(900), batch_size=50, shuffle=True)
test_set = make_set(300)
test_loader = DataLoader(test_set, batch_size=20)

model = EuclidesModel()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(6):
    model.train()
    total = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model.logits(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}  loss {total / len(train_loader):.4f}")

model.eval()
correct, confident, conf = 0, 0, 0.0
with torch.no_grad():
    for x, y in test_loader:
        predictions, features = model(x)
        prob, pred = predictions.max(dim=1)
        correct += (pred == y).sum().item()
        confident += (prob > 0.5).sum().item()
        conf += prob.sum().item()
n = len(test_set)
print(f"test acc {correct / n:.3f}  mean top probability {conf / n:.3f}  above 0.5: {confident} of {n}")
with torch.no_grad():
    p, _ = model(test_set.tensors[0][:1])
print("one image:", [round(v, 3) for v in p[0].tolist()])
