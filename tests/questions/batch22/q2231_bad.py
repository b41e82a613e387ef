import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)

ENC, DEC = 24, 12
REALS = ["value", "ad_spend", "sin_day", "cos_day"]
COLUMNS = sorted(REALS)


def make_series(n_series, length):
    t = torch.arange(length).float()
    phase = torch.rand(n_series, 1) * 2 * math.pi
    angle = 2 * math.pi * t / 12 + phase
    level = torch.cumsum(torch.randn(n_series, length) * 0.4, dim=1)
    value = torch.sin(angle) + level
    frame = {"value": value, "ad_spend": torch.randn(n_series, length),
             "sin_day": torch.sin(angle), "cos_day": torch.cos(angle)}
    return frame


def windows(frame, starts):
    xs, ys = [], []
    for s in starts:
        cols = []
        for name in COLUMNS:
            series = frame[name]
            if name == "value":
                cols.append(series[:, s - 1:s - 1 + ENC + DEC])
            else:
                cols.append(series[:, s:s + ENC + DEC])
        xs.append(torch.stack(cols, dim=-1))
        ys.append(frame["value"][:, s:s + ENC + DEC])
    return torch.cat(xs), torch.cat(ys)


class AutoRegressor(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.rnn = nn.GRU(len(COLUMNS), hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)
        self.target_position = REALS.index("value")

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.out(h).squeeze(-1)

    @torch.no_grad()
    def predict(self, x):
        enc, dec = x[:, :ENC], x[:, ENC:].clone()
        h, state = self.rnn(enc)
        last = self.out(h[:, -1]).squeeze(-1)
        output = []
        for i in range(DEC):
            step = dec[:, [i]]
            if i > 0:
                step[:, 0, self.target_position] = last
            h, state = self.rnn(step, state)
            last = self.out(h[:, -1]).squeeze(-1)
            output.append(last)
        return torch.stack(output, dim=1)


frame = make_series(80, 160)
train_x, train_y = windows(frame, range(1, 100, 6))
val_x, val_y = windows(frame, [120])

model = AutoRegressor()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(12):
    model.train()
    order = torch.randperm(len(train_x))
    for s in range(0, len(order), 64):
        idx = order[s:s + 64]
        loss = F.mse_loss(model(train_x[idx]), train_y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1} train loss {loss.item():.3f}")

model.eval()
future = val_y[:, ENC:]
forecast = model.predict(val_x)
hidden = val_x.clone()
hidden[:, ENC + 1:, COLUMNS.index("value")] = 0.0
forecast_hidden = model.predict(hidden)
print(f"validation MAE {(forecast - future).abs().mean().item():.3f}")
print(f"validation MAE, future values blanked {(forecast_hidden - future).abs().mean().item():.3f}")
print(f"largest change of a forecast {(forecast - forecast_hidden).abs().max().item():.3f}")
