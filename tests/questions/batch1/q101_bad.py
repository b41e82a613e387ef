import numpy as np
import torch


class Net(torch.nn.Module):
    def __init__(self, input_dim, output_dim):
        super().__init__()
        self.layer1 = torch.nn.Linear(input_dim, output_dim, bias=False)

    def forward(self, x):
        x = self.layer1(x)
        x.squeeze()
        return x


def make_data(n):
    rng = np.random.default_rng(3)
    data = rng.standard_normal((n, 3))
    data[:, :2] *= 100
    data[:, 2] = 5 * data[:, 0] + 3 * data[:, 1] + rng.standard_normal(n)
    return torch.Tensor(data)


torch.manual_seed(0)
data = make_data(4000)
train_x, train_y = data[:, :2], data[:, 2]
bs = 100

net = Net(2, 1)
criterion = torch.nn.MSELoss()
optimizer = torch.optim.RMSprop(net.parameters(), lr=0.05)

for epoch in range(15):
    for start in range(0, len(train_x), bs):
        x = train_x[start : start + bs]
        y = train_y[start : start + bs]
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.2f}")
print(net.layer1.weight)
