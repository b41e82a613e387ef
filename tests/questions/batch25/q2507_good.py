import torch
import torch.nn as nn

torch.manual_seed(0)

WINDOW, HORIZON = 20, 5
EPOCHS, BATCH = 12, 64


class StandardScaler:
    def fit_transform(self, x):
        self.mean, self.std = x.mean(dim=0), x.std(dim=0)
        return self.transform(x)

    def transform(self, x):
        return (x - self.mean) / self.std

    def inverse(self, x):
        return x * self.std + self.mean


def make_prices(n):
    day = torch.arange(n, dtype=torch.float32)
    season = 4 * torch.sin(day / 9) + 2 * torch.sin(day / 23)
    level = 100 + 0.012 * day + 30 * torch.sigmoid((day - 1750) / 60)
    return (level + season + torch.randn(n) * 0.5)[:, None]


def load_data(prices, splits=(0.7, 0.1)):
    a = int(len(prices) * splits[0])
    b = a + int(len(prices) * splits[1])
    train, valid, test = prices[:a], prices[a:b], prices[b:]
    scaler = StandardScaler()
    train = scaler.fit_transform(train)
    valid = scaler.transform(valid)
    test = scaler.transform(test)
    return train, valid, test, scaler


def windows(series):
    chunks = series.unfold(0, WINDOW + HORIZON, 1).transpose(1, 2)
    return chunks[:, :WINDOW], chunks[:, WINDOW:, 0]


class Forecaster(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.gru = nn.GRU(1, dim, batch_first=True)
        self.head = nn.Linear(dim, HORIZON)

    def forward(self, x):
        return self.head(self.gru(x)[0][:, -1])


prices = make_prices(2500)
train, valid, test, scaler = load_data(prices)
model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
loss_fn = nn.MSELoss()
train_x, train_y = windows(train)
for epoch in range(EPOCHS):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(train_x)).split(BATCH):
        loss = loss_fn(model(train_x[idx]), train_y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    if epoch % 3 == 0:
        model.eval()
        with torch.no_grad():
            vx, vy = windows(valid)
            print(f"epoch {epoch:2d}  train {total / len(train_x):.4f}  "
                  f"valid {loss_fn(model(vx), vy).item():.4f}")

model.eval()
with torch.no_grad():
    x, y = windows(test)
    error = (scaler.inverse(model(x)) - scaler.inverse(y)).abs().mean().item()
print(f"test mae {error:.3f}")

live = StandardScaler()
live.fit_transform(prices[:int(len(prices) * 0.7)])
raw_x, raw_y = windows(prices[-len(test):])
with torch.no_grad():
    predicted = live.inverse(model(live.transform(raw_x)))
print(f"mae of the running service on the same days {(predicted - raw_y).abs().mean().item():.3f}")
