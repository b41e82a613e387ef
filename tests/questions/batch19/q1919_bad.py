import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(0)


class MinMax:
    def fit(self, values):
        self.low = values.min(axis=0)
        self.high = values.max(axis=0)
        return self

    def transform(self, values):
        return (values - self.low) / (self.high - self.low)

    def inverse_transform(self, values):
        return values * (self.high - self.low) + self.low


def field_history(n_fields, n_years):
    rain = rng.uniform(200, 1200, (n_fields, n_years))
    heat = rng.uniform(15, 32, (n_fields, n_years))
    base = rng.uniform(1800, 3200, (n_fields, 1))
    crop = base + 1.6 * (rain - 700) - 35 * np.abs(heat - 23) + rng.normal(0, 40, (n_fields, n_years))
    return np.stack([rain, heat, crop], axis=-1)


class YieldLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 32, batch_first=True)
        self.head = nn.Linear(32, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out[:, -1])


class YieldModel:
    def __init__(self):
        self.net = YieldLSTM()
        self.x_scaler = MinMax()
        self.y_scaler = MinMax()

    def fit(self, x, y, epochs=150):
        self.x_scaler.fit(x.reshape(-1, x.shape[-1]))
        self.y_scaler.fit(y)
        xs = torch.tensor(self.x_scaler.transform(x), dtype=torch.float32)
        ys = torch.tensor(self.y_scaler.transform(y), dtype=torch.float32)
        optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-2)
        for epoch in range(1, epochs + 1):
            loss = nn.functional.mse_loss(self.net(xs), ys)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if epoch % 50 == 0:
                print(f"epoch {epoch:3d}  loss {loss.item():.5f}")

    def predict(self, x):
        self.net.eval()
        with torch.no_grad():
            out = self.net(torch.tensor(x, dtype=torch.float32))
        return out.numpy()


def split(data):
    x = data.copy()
    y = data[:, -1, 2:].copy()
    x[:, -1, 2] = x[:, :-1, 2].mean(axis=1)
    return x, y


x_train, y_train = split(field_history(500, 8))
x_test, y_test = split(field_history(150, 8))

model = YieldModel()
model.fit(x_train, y_train)
forecast = model.predict(x_test)
rmse = float(np.sqrt(((forecast - y_test) ** 2).mean()))
print(f"test rmse {rmse:.1f} kg/ha  (std of the yields {y_test.std():.1f})")
print("forecast", forecast[:4, 0].round(2).tolist())
print("measured", y_test[:4, 0].round(2).tolist())
