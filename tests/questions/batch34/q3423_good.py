import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class NeuralNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(8 * 8, 64),
            nn.ReLU(),
            nn.Linear(64, 64),
            nn.ReLU(),
            nn.Linear(64, 10),
        )

    def forward(self, x):
        x = self.flatten(x)
        logits = self.linear_relu_stack(x)
        return logits


def train_loop(dataloader, model, loss_fn, optimizer):
    size = len(dataloader.dataset)
    for batch, (X, y) in enumerate(dataloader):
        pred = model(X)
        loss = loss_fn(pred, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if batch % 20 == 0:
            print(f"loss: {loss.item():>7f}  [{batch * len(X):>4d}/{size:>4d}]")


def test_loop(dataloader, model, loss_fn):
    test_loss, correct = 0, 0
    with torch.no_grad():
        for X, y in dataloader:
            pred = model(X)
            test_loss += loss_fn(pred, y).item()
            correct += (pred.argmax(1) == y).type(torch.float).sum().item()
    print(f"Accuracy: {correct / len(dataloader.dataset):.3f}, Avg loss: {test_loss / len(dataloader):.3f}")


def make_set(count, patterns):
    y = torch.randint(0, 10, (count,))
    return TensorDataset(patterns[y] + 1.2 * torch.randn(count, 1, 8, 8), y)


patterns = torch.randn(10, 1, 8, 8)
train_dataloader = DataLoader(make_set(1200, patterns), batch_size=32, shuffle=True)
test_dataloader = DataLoader(make_set(400, patterns), batch_size=50)
model = NeuralNetwork()
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for t in range(6):
    train_loop(train_dataloader, model, loss_fn, optimizer)
    test_loop(test_dataloader, model, loss_fn)
