import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class AttentionNet(nn.Module):
    def __init__(self, classes=6):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        )
        self.drop = nn.Dropout(0.5)
        self.head = nn.Linear(24, classes)

    def forward(self, x):
        return self.head(self.drop(self.features(x).flatten(1)))


def make_set(count, patterns):
    y = torch.arange(count) % len(patterns)
    x = patterns[y] * (0.5 + torch.rand(count, 1, 1, 1)) + 0.6 * torch.randn(count, 1, 10, 10)
    return TensorDataset(x, y)


def train(net, loader, epochs=8):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    loss_fn = nn.CrossEntropyLoss()
    net.train()
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss = loss_fn(net(x), y)
            loss.backward()
            optimizer.step()
    print("train loss", round(loss.item(), 3))


def test(net, dataset, batch_size):
    net.eval()
    correct = 0
    for x, y in DataLoader(dataset, batch_size=batch_size, shuffle=False):
        with torch.no_grad():
            correct += (net(x).argmax(1) == y).sum().item()
    return correct / len(dataset)


def main():
    patterns = torch.randn(6, 1, 10, 10)
    train_set, test_set = make_set(600, patterns), make_set(240, patterns)
    order = torch.argsort(test_set.tensors[1])
    test_set = TensorDataset(test_set.tensors[0][order], test_set.tensors[1][order])
    net = AttentionNet()
    train(net, DataLoader(train_set, batch_size=32, shuffle=True))
    for batch_size in (2, 8, 120):
        print("batch size", batch_size, "accuracy", round(test(net, test_set, batch_size), 3))


main()
