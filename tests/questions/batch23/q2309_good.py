import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
rng = np.random.default_rng(0)


def load_table(n):
    x = rng.normal(size=(n, 24)).astype("float32")
    score = x[:, 0] * x[:, 1] + 1.5 * np.sin(x[:, 2]) + x[:, 3] - 0.5 * x[:, 4] ** 2
    y = 180.0 + 35.0 * score + rng.normal(size=n) * 3.0
    return x, y.astype("float32")[:, None]


class Scaler:
    def fit(self, a):
        self.mean, self.std = float(a.mean()), float(a.std())
        return self

    def transform(self, a):
        return (a - self.mean) / self.std

    def inverse(self, a):
        return a * self.std + self.mean


x, y = load_table(3000)
x_train, y_train = x[:2200], y[:2200]
x_val, y_val = x[2200:2600], y[2200:2600]
x_test, y_test = x[2600:], y[2600:]

scaler = Scaler().fit(y_train)
y_train, y_val = scaler.transform(y_train), scaler.transform(y_val)


def loader(a, b, shuffle=False):
    return DataLoader(TensorDataset(torch.from_numpy(a), torch.from_numpy(b)), batch_size=64, shuffle=shuffle)


train_loader, val_loader, test_loader = loader(x_train, y_train, True), loader(x_val, y_val), loader(x_test, y_test)

model = nn.Sequential(
    nn.Linear(24, 128), nn.ReLU(), nn.Dropout(0.05),
    nn.Linear(128, 64), nn.ReLU(),
    nn.Linear(64, 1),
)
criterion = nn.MSELoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 40)

for epoch in range(40):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
    scheduler.step()
    model.eval()
    with torch.no_grad():
        val = sum(criterion(model(xb), yb).item() * len(xb) for xb, yb in val_loader) / len(x_val)
    if epoch % 10 == 9:
        print(f"epoch {epoch + 1} train {loss.item():.4f} val mse {val:.4f}")

model.eval()
preds, targets = [], []
with torch.no_grad():
    for xb, yb in test_loader:
        preds.append(scaler.inverse(model(xb)))
        targets.append(yb)
preds, targets = torch.cat(preds), torch.cat(targets)
rmse = criterion(preds, targets).sqrt().item()
r2 = 1 - ((preds - targets) ** 2).sum() / ((targets - targets.mean()) ** 2).sum()
print(f"test rmse {rmse:.2f} r2 {r2.item():.3f}")
