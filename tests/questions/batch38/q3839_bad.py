import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(20)

batch_size, rows, cols, n_class = 50, 10, 8, 4


def digits(n):
    label = torch.randint(0, n_class, (n,))
    image = 0.8 * torch.randn(n, rows, cols)
    for i in range(n):
        k = int(label[i])
        for r in range(rows):
            image[i, r, (r * (k % 2 * 2 - 1) + 3 * (k // 2)) % cols] += 1.5
    return image, label


class Rnn(nn.Module):
    def __init__(self, in_dim, hidden_dim, n_layer, n_class):
        super(Rnn, self).__init__()
        self.n_layer = n_layer
        self.hidden_dim = hidden_dim
        self.lstm = nn.LSTM(in_dim, hidden_dim, n_layer)
        self.classifier = nn.Linear(hidden_dim, n_class)

    def forward(self, x):
        out, _ = self.lstm(x)
        out = out[:, -1, :]
        return self.classifier(out)


train_loader = DataLoader(TensorDataset(*digits(1000)), batch_size=batch_size, shuffle=True)
test_loader = DataLoader(TensorDataset(*digits(300)), batch_size=batch_size, shuffle=False)
model = Rnn(cols, 32, 1, n_class)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(8):
    running_loss, running_acc = 0.0, 0
    for img, label in train_loader:
        out = model(img)
        loss = criterion(out, label)
        running_loss += loss.item() * label.size(0)
        running_acc += (out.argmax(1) == label).sum().item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    hits = 0
    with torch.no_grad():
        for img, label in test_loader:
            hits += (model(img).argmax(1) == label).sum().item()
    model.train()
    print(f"epoch {epoch + 1}  loss {running_loss / 1000:.4f}  acc {running_acc / 1000:.3f}  "
          f"test acc {hits / 300:.3f}")
