import torch
from torch import nn, optim
from torch.nn import functional as F

torch.manual_seed(0)


class Net1(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear_1 = nn.Linear(1, 10)
        self.linear_2 = nn.Linear(10, 1)

    def forward(self, x):
        return self.linear_2(F.relu(self.linear_1(x)))


class Net2(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear_1 = nn.Linear(1, 10)
        self.linear_2 = nn.Linear(10, 1)

    def forward(self, x):
        return self.linear_2(F.relu(self.linear_1(x)))


n_1, n_2 = Net1(), Net2()
optimizer_n1 = optim.Adam(n_1.parameters(), lr=0.01)
optimizer_n2 = optim.Adam(n_2.parameters(), lr=0.01)
criterion = nn.MSELoss()

for i in range(300):
    x = torch.randn(10, 1)
    y = 2 * x

    pred_n1 = n_1(x)
    optimizer_n1.zero_grad()
    loss_n1 = criterion(pred_n1, y)
    loss_n1.backward()
    optimizer_n1.step()

    pred_n2 = n_2(pred_n1.detach())
    optimizer_n2.zero_grad()
    loss_n2 = criterion(pred_n2, y)
    loss_n2.backward()
    optimizer_n2.step()

    if i % 50 == 0:
        print(f"{i}: loss of net 1 {loss_n1.item():.4f}, loss of net 2 {loss_n2.item():.4f}")
