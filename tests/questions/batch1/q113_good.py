import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset


class LSTM(nn.Module):
    def __init__(self, tokens, embed, hidden, labels):
        super().__init__()
        self.embedding = nn.Embedding(tokens, embed)
        self.lstm = nn.LSTM(embed, hidden, batch_first=True)
        self.dropout = nn.Dropout(0.1)
        self.fc = nn.Linear(hidden, labels)

    def forward(self, x):
        x = self.embedding(x)
        x, _ = self.lstm(x)
        x = x[:, -1, :]
        x = self.dropout(x)
        return torch.sigmoid(self.fc(x))


def sequences(n, length=8, tokens=10):
    g = torch.Generator().manual_seed(7)
    x = torch.randint(0, tokens, (n, length), generator=g)
    y = torch.zeros(n, tokens).scatter_(1, x[:, :4], 1.0)
    return x, y


torch.manual_seed(0)
X_train, y_train = sequences(1500)
train_loader = DataLoader(TensorDataset(X_train, y_train), batch_size=50, shuffle=False)
model = LSTM(10, 16, 50, 10)
criterion = nn.BCELoss()
optimizer = optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(12):
    running_loss = 0.0
    model.train()
    for inputs, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(inputs), labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
    print(f"epoch {epoch} loss {running_loss / len(train_loader):.4f}")
