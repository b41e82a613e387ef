import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class NeuralNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(12 * 12, 64),
            nn.ReLU(),
            nn.Linear(64, 64),
            nn.ReLU(),
            nn.Linear(64, 10),
            nn.ReLU(),
        )

    def forward(self, x):
        x = self.flatten(x)
        return self.linear_relu_stack(x)


def make_sets(n_train=2000, n_test=500):
    clothes = torch.rand(10, 12, 12)
    sets = []
    for n in (n_train, n_test):
        y = torch.randint(0, 10, (n,))
        x = clothes[y] * (0.5 + torch.rand(n, 1, 1)) + 0.25 * torch.randn(n, 12, 12)
        sets.append(TensorDataset(x, y))
    return sets


def train(dataloader, model, loss_fn, optimizer):
    size = len(dataloader.dataset)
    model.train()
    for batch, (x, y) in enumerate(dataloader):
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if batch % 16 == 0:
            print(f"loss: {loss.item():>7f}  [{(batch + 1) * len(x):>5d}/{size:>5d}]")


def test(dataloader, model, loss_fn):
    model.eval()
    test_loss, correct = 0.0, 0.0
    with torch.no_grad():
        for x, y in dataloader:
            pred = model(x)
            test_loss += loss_fn(pred, y).item()
            correct += (pred.argmax(1) == y).float().sum().item()
    print(
        f"Accuracy: {100 * correct / len(dataloader.dataset):>0.1f}%, Avg loss: {test_loss / len(dataloader):>8f}"
    )


torch.manual_seed(36)
training_data, test_data = make_sets()
train_dataloader = DataLoader(training_data, batch_size=64, shuffle=True)
test_dataloader = DataLoader(test_data, batch_size=64)
model = NeuralNetwork()
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=5e-2)
for t in range(8):
    print(f"Epoch {t + 1}")
    train(train_dataloader, model, loss_fn, optimizer)
    test(test_dataloader, model, loss_fn)
