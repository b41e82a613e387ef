import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(11)

X = torch.randn(1000, 20)
direction = torch.randn(20, 4)
y = (X @ direction + 0.3 * torch.randn(1000, 4)).argmax(1)
X_train, y_train = X[:700], y[:700]
X_valid, y_valid = X[700:], y[700:]

train_loader = DataLoader(TensorDataset(X_train, y_train), batch_size=64, shuffle=True)
valid_loader = DataLoader(TensorDataset(X_valid, y_valid), batch_size=64, shuffle=False)


class Net(nn.Module):
    def __init__(self, units=64):
        super().__init__()
        self.hidden = nn.Linear(20, units)
        self.drop = nn.Dropout(0.2)
        self.out = nn.Linear(units, 4)

    def forward(self, x):
        return self.out(self.drop(torch.relu(self.hidden(x))))


def predict(net, loader):
    net.eval()
    parts = []
    with torch.no_grad():
        for xb, _ in loader:
            parts.append(net(xb).argmax(dim=1))
    return torch.cat(parts)


net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)

for epoch in range(12):
    net.train()
    total, right = 0.0, 0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        logits = net(xb)
        loss = criterion(logits, yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
        right += (logits.argmax(1) == yb).sum().item()
    y_pred = predict(net, valid_loader)
    valid_acc = (y_pred == y_valid).float().mean().item()
    print(f"epoch {epoch + 1:2d}  loss {total / 700:.4f}  train acc {right / 700:.3f}  valid acc {valid_acc:.3f}")
