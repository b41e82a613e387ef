import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class NeuralNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.stack = nn.Sequential(
            nn.Linear(20, 128),
            nn.BatchNorm1d(128),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(128, 128),
            nn.BatchNorm1d(128),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(128, 5),
        )

    def forward(self, x):
        return self.stack(x)


def train(dataloader, model, loss_fn, optimizer):
    for X, y in dataloader:
        loss = loss_fn(model(X), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def test(dataloader, model, loss_fn):
    model.eval()
    loss, correct = 0.0, 0
    with torch.no_grad():
        for X, y in dataloader:
            pred = model(X)
            loss += loss_fn(pred, y).item() / len(dataloader)
            correct += (pred.argmax(1) == y).sum().item()
    return loss, correct / len(dataloader.dataset)


def make_set(n):
    y = torch.randint(0, 5, (n,))
    return TensorDataset(centres[y] + 1.5 * torch.randn(n, 20), y)


centres = torch.randn(5, 20)
train_dataloader = DataLoader(make_set(400), batch_size=40, shuffle=True)
test_dataloader = DataLoader(make_set(1000), batch_size=200)
model = NeuralNetwork()
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for t in range(20):
    train_loss = train(train_dataloader, model, loss_fn, optimizer)
    test_loss, accuracy = test(test_dataloader, model, loss_fn)
    if (t + 1) % 4 == 0:
        print(f"epoch {t + 1}: train {train_loss:.4f}, test {test_loss:.4f}, accuracy {accuracy:.3f}")
