import torch
import torch.nn as nn

torch.manual_seed(0)


class GainEstimator(nn.Module):
    def __init__(self, n_in=10, low=0.1, high=0.9):
        super().__init__()
        self.low, self.high = low, high
        self.fc1 = nn.Linear(n_in, 32)
        self.fc2 = nn.Linear(32, 1)
        nn.init.normal_(self.fc2.weight, std=0.01)
        nn.init.zeros_(self.fc2.bias)

    def forward(self, x):
        h = torch.tanh(self.fc1(x))
        gain = self.fc2(h)
        return torch.clamp(gain, min=self.low, max=self.high).detach() + gain - gain.detach()


def make_data(n):
    x = torch.randn(n, 10)
    y = 0.2 + 0.6 * torch.sigmoid(x[:, :3].sum(1, keepdim=True))
    return x, y


x_train, y_train = make_data(1024)
x_test, y_test = make_data(256)

model = GainEstimator()
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

for epoch in range(30):
    perm = torch.randperm(len(x_train))
    running = 0.0
    for i in range(0, len(perm), 64):
        idx = perm[i:i + 64]
        optimizer.zero_grad()
        loss = criterion(model(x_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
        running += loss.item() * len(idx)
    if epoch % 5 == 4:
        with torch.no_grad():
            test = criterion(model(x_test), y_test).item()
        print(f"epoch {epoch + 1}: train mse {running / len(perm):.5f} test mse {test:.5f}")
