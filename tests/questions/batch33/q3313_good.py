import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

CENTERS = torch.randn(10, 1, 8, 8)


def fashion(n):
    y = torch.randint(0, 10, (n,))
    return CENTERS[y] + 1.6 * torch.randn(n, 1, 8, 8), y


class TinyVGG(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.block = nn.Sequential(
            nn.Conv2d(1, hidden, 3, padding=1), nn.ReLU(), nn.Conv2d(hidden, hidden, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)
        )
        self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(hidden * 16, 10))

    def forward(self, x):
        return self.classifier(self.block(x))


def accuracy_fn(y_true, y_pred):
    return (y_true == y_pred).float().mean().item() * 100


def train_step(model, loader, loss_fn, optimizer):
    total, acc = 0.0, 0.0
    model.train()
    for X, y in loader:
        logits = model(X)
        loss = loss_fn(logits, y)
        total += loss.item()
        acc += accuracy_fn(y, logits.argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"train loss {total / len(loader):.4f} accuracy {acc / len(loader):.1f}")


def predict(model, loader):
    preds = []
    model.eval()
    with torch.inference_mode():
        for X, y in loader:
            y_logit = model(X)
            y_pred = torch.softmax(y_logit, dim=1).argmax(dim=1)
            preds.append(y_pred)
    return torch.cat(preds)


def main():
    train, test = TensorDataset(*fashion(1600)), TensorDataset(*fashion(640))
    model = TinyVGG(8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(4):
        train_step(model, DataLoader(train, batch_size=32, shuffle=True), loss_fn, optimizer)
    y_pred = predict(model, DataLoader(test, batch_size=32))
    targets = test.tensors[1]
    confusion = torch.zeros(10, 10)
    for t, p in zip(targets, y_pred):
        confusion[t, p] += 1
    print(f"test accuracy {accuracy_fn(targets, y_pred):.1f}")
    print("diagonal", confusion.diag().int().tolist())


main()
