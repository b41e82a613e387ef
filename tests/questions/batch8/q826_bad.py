import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(6, 32)
        self.l2 = nn.Linear(32, 32)
        self.l3 = nn.Linear(32, 1)

    def forward(self, x):
        x = torch.relu(self.l1(x))
        x = torch.relu(self.l2(x))
        return self.l3(x)


def make_sensor_data(n):
    x = torch.rand(n, 6)
    grade = (x[:, 0] * 2 + x[:, 1] * x[:, 2] * 3 - x[:, 3]).round()
    return x, grade


def hit_rate(model, x, grade):
    with torch.no_grad():
        return (model(x).squeeze(1).round() == grade).float().mean().item()


def main():
    x, grade = make_sensor_data(500)
    x_test, grade_test = make_sensor_data(500)
    loader = DataLoader(TensorDataset(x, grade), batch_size=10, shuffle=True)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(1, 41):
        total = 0.0
        for inputs, target in loader:
            output = model(inputs)
            loss = F.mse_loss(output, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 10 == 0:
            print(
                f"epoch {epoch}: loss {total / len(loader):.3f} hit rate {hit_rate(model, x_test, grade_test):.3f}"
            )


if __name__ == "__main__":
    main()
