import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, size=30, hidden=64, classes=5):
        super().__init__()
        self.fc1 = nn.Linear(size, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, classes)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.dropout(x)
        x = F.relu(self.fc2(x))
        x = F.dropout(x)
        return self.out(x)


def make_data(count, centers):
    y = torch.randint(0, len(centers), (count,))
    return centers[y] + 1.3 * torch.randn(count, centers.shape[1]), y


def train(net, x, y, epochs=15):
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    net.train()
    for epoch in range(epochs):
        for index in torch.randperm(len(x)).split(40):
            loss = F.cross_entropy(net(x[index]), y[index])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return loss.item()


@torch.no_grad()
def predict(net, x):
    net.eval()
    return net(x).argmax(1)


def main():
    centers = 0.6 * torch.randn(5, 30)
    x, y = make_data(600, centers)
    test_x, test_y = make_data(400, centers)
    net = Net()
    print("train loss", round(train(net, x, y), 3))
    first, second = predict(net, test_x), predict(net, test_x)
    print("accuracy", round((first == test_y).float().mean().item(), 3))
    print("predictions that differ between two calls", (first != second).sum().item())


main()
