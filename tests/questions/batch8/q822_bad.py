import torch
from torch import nn

torch.manual_seed(0)


class HousePrices(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1)
        )

    def forward(self, x):
        return self.layers(x)


def make_houses(n=512):
    x = torch.randn(n, 5)
    price = 3.0 * x[:, :1] - 2.0 * x[:, 1:2] * x[:, 2:3] + x[:, 3:4].abs() + 10.0
    return x, price


def main():
    x, price = make_houses()
    model = HousePrices()
    criterion = nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.005)
    for epoch in range(1, 41):
        running_loss = 0.0
        for start in range(0, 512, 32):
            inputs, labels = x[start : start + 32], price[start : start + 32]
            optimizer.zero_grad
            outputs = model(inputs)
            loss = criterion(outputs, labels)
            loss.backward()
            optimizer.step()
            running_loss += loss.item()
        if epoch % 5 == 0:
            print(f"epoch {epoch}: loss {running_loss / 16:,.2f}")


if __name__ == "__main__":
    main()
