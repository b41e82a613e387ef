import torch
import torch.nn as nn
import torch.nn.functional as F


class Network(nn.Module):
    def __init__(self, nf, nh, nc):
        super().__init__()
        self.lin1 = nn.Linear(nf, nh)
        self.lin2 = nn.Linear(nh, nc)

    def forward(self, x):
        return self.lin2(F.relu(self.lin1(x)))


def l1loss(layer):
    return torch.norm(layer.weight.data, p=1)


def make_data(n, nf=10):
    x = torch.randn(n, nf)
    y = (x[:, 0] + x[:, 1] > 0).long()
    flipped = torch.rand(n) < 0.1
    return x, torch.where(flipped, 1 - y, y)


def fit(lmbda, x, y, x_test, y_test, epochs=30, batchsize=50):
    torch.manual_seed(1)
    net = Network(10, 6, 2)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(batchsize):
            optimizer.zero_grad()
            loss = criterion(net(x[rows]), y[rows]) + lmbda * l1loss(net.lin1)
            loss.backward()
            optimizer.step()
    accuracy = (net(x_test).argmax(1) == y_test).float().mean().item()
    weight = net.lin1.weight.detach().abs()
    return loss.item(), accuracy, weight[:, :2].mean().item(), weight[:, 2:].mean().item()


def main():
    torch.manual_seed(0)
    x, y = make_data(800)
    x_test, y_test = make_data(400)
    for lmbda in (0.0, 0.01, 0.05):
        loss, accuracy, used, unused = fit(lmbda, x, y, x_test, y_test)
        print(f"lambda {lmbda:5.2f}: loss {loss:.4f}, test accuracy {accuracy:.3f}", end="")
        print(f", mean |w| of the 2 relevant features {used:.4f}, of the other 8 {unused:.4f}")


if __name__ == "__main__":
    main()
