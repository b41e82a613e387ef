import torch
from torch import nn

torch.manual_seed(5)

N, DAYS = 300, 12


def make_shops(n):
    visits = torch.randint(0, 9, (n, DAYS)).float()
    visits[torch.rand(n, DAYS) < 0.1] = 0.0
    rate = 0.2 + 0.6 * torch.rand(n, 1)
    sales = torch.binomial(visits, rate.expand(n, DAYS))
    return visits, sales, rate


class RateNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_scale = nn.Parameter(torch.zeros(DAYS))
        self.head = nn.Sequential(nn.Linear(DAYS, 32), nn.ReLU(), nn.Linear(32, 1), nn.Sigmoid())

    def forward(self, visits, sales):
        weight = visits * self.log_scale.exp()
        ratio = torch.where(weight > 0, sales / weight, torch.zeros_like(sales))
        return self.head(ratio.clamp(max=3.0))


visits, sales, rate = make_shops(N)
test = make_shops(100)
model = RateNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.MSELoss()

for epoch in range(40):
    order = torch.randperm(N)
    total = 0.0
    for i in range(0, N, 50):
        idx = order[i:i + 50]
        pred = model(visits[idx], sales[idx])
        loss = criterion(pred, rate[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 8 == 0:
        print(f"epoch {epoch:2d}  train loss {total / 6:.5f}")

with torch.no_grad():
    print(f"test loss {criterion(model(test[0], test[1]), test[2]).item():.5f}")
