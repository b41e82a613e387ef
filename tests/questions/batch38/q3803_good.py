import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class LSTMClassifier(nn.Module):
    def __init__(self, n_feats=6, rnn_size=32, n_classes=10):
        super().__init__()
        self.lstm = nn.LSTM(n_feats, rnn_size, batch_first=True)
        self.fc = nn.Linear(rnn_size, n_classes)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(out[:, -1])


def make_digits(n):
    digit = torch.randint(0, 10, (n,))
    t = torch.linspace(0, 1, 12)
    freq = (digit.float() + 1).view(-1, 1, 1)
    base = torch.sin(freq * t.view(1, -1, 1) * torch.linspace(0.5, 2, 6).view(1, 1, -1))
    return base + 0.1 * torch.randn(n, 12, 6), digit


torch.manual_seed(1)
train_x, train_y = make_digits(1500)
test_x, test_y = make_digits(400)
train_loader = DataLoader(TensorDataset(train_x, train_y), batch_size=50, shuffle=True)

model = LSTMClassifier()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(12):
    model.train()
    running = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        y_pred = model(xb)
        loss = criterion(y_pred, yb)
        loss.backward()
        optimizer.step()
        running += loss.item()
    model.eval()
    with torch.no_grad():
        acc = (model(test_x).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch} loss {running / len(train_loader):.4f} test acc {acc:.3f}")
