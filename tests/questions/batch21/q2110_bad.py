import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)
torch.set_num_threads(1)

CLASSES = 6
COUNTS = [3000, 1500, 600, 150, 60, 40]
centers = torch.randn(CLASSES, 12) * 0.75


def sample(counts):
    xs, ys = [], []
    for c, n in enumerate(counts):
        xs.append(centers[c] + torch.randn(n, 12))
        ys.append(torch.full((n,), c))
    return torch.cat(xs), torch.cat(ys)


class FocalLoss(nn.Module):
    def __init__(self, alpha, gamma=2.0):
        super().__init__()
        self.alpha = torch.as_tensor(alpha, dtype=torch.float)
        self.gamma = gamma

    def forward(self, logits, labels):
        labels = labels.view(-1, 1)
        log_p = F.log_softmax(logits, dim=1).gather(1, labels)
        p = log_p.exp()
        self.alpha = self.alpha.gather(0, labels.view(-1))
        loss = -self.alpha * (torch.pow(1 - p, self.gamma) * log_p).view(-1)
        return loss.mean()


x_train, y_train = sample(COUNTS)
x_test, y_test = sample([300] * CLASSES)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True, drop_last=True)

weights = 1.0 / torch.tensor(COUNTS, dtype=torch.float)
weights = weights / weights.sum() * CLASSES

model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, CLASSES))
criterion = FocalLoss(weights)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(25):
    running = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        running += loss.item()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1:2d}  loss {running / len(loader):.5f}")

model.eval()
with torch.no_grad():
    pred = model(x_test).argmax(1)
recall = [(pred[y_test == c] == c).float().mean().item() for c in range(CLASSES)]
print("recall per class", " ".join(f"{r:.2f}" for r in recall))
print(f"balanced accuracy {sum(recall) / CLASSES:.3f}")
