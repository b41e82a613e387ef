import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)


class DecayGRU(nn.Module):
    def __init__(self, n_inputs, n_hidden, x_mean, last_only=True):
        super().__init__()
        self.n_hidden = n_hidden
        self.register_buffer("x_mean", x_mean)
        self.update = nn.Linear(2 * n_inputs + n_hidden, n_hidden)
        self.reset = nn.Linear(2 * n_inputs + n_hidden, n_hidden)
        self.cand = nn.Linear(2 * n_inputs + n_hidden, n_hidden)
        self.decay_x = nn.Linear(n_inputs, n_inputs)
        self.decay_h = nn.Linear(n_inputs, n_hidden)
        self.last_only = last_only

    def step(self, x, x_last, h, mask, delta):
        gx = torch.exp(-F.relu(self.decay_x(delta)))
        gh = torch.exp(-F.relu(self.decay_h(delta)))
        x = mask * x + (1 - mask) * (gx * x_last + (1 - gx) * self.x_mean)
        h = gh * h
        joint = torch.cat([x, h, mask], 1)
        z = torch.sigmoid(self.update(joint))
        r = torch.sigmoid(self.reset(joint))
        c = torch.tanh(self.cand(torch.cat([x, r * h, mask], 1)))
        return (1 - z) * h + z * c

    def forward(self, x, x_last, mask, delta):
        h = x.new_zeros(x.size(0), self.n_hidden)
        outputs = None
        for t in range(x.size(1)):
            h = self.step(x[:, t], x_last[:, t], h, mask[:, t], delta[:, t])
            if outputs is None:
                outputs = h.unsqueeze(1)
            else:
                outputs = torch.cat((h.unsqueeze(1), outputs), 1)
        return outputs[:, -1] if self.last_only else outputs


class Forecaster(nn.Module):
    def __init__(self, n_series, x_mean):
        super().__init__()
        self.rnn = DecayGRU(n_series, 32, x_mean)
        self.head = nn.Linear(32, n_series)

    def forward(self, *parts):
        return self.head(self.rnn(*parts))


def make_windows(n, steps=12, n_series=4):
    phase = 2 * math.pi * torch.rand(n, 1, n_series)
    speed = 0.3 + 0.5 * torch.rand(n, 1, n_series)
    t = torch.arange(steps + 1.0).view(1, -1, 1)
    series = torch.sin(speed * t + phase) + 0.03 * torch.randn(n, steps + 1, n_series)
    x, y = series[:, :-1], series[:, -1]
    mask = (torch.rand_like(x) > 0.2).float()
    x = x * mask
    last, delta = torch.zeros_like(x), torch.zeros_like(x)
    for i in range(1, steps):
        seen = mask[:, i - 1]
        last[:, i] = seen * x[:, i - 1] + (1 - seen) * last[:, i - 1]
        delta[:, i] = 1 + (1 - seen) * delta[:, i - 1]
    return x, last, mask, delta / steps, y


train, valid = make_windows(2400), make_windows(600)
x_mean = train[0].sum((0, 1)) / train[2].sum((0, 1))
model = Forecaster(4, x_mean)
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(15):
    perm = torch.randperm(2400)
    total = 0.0
    for i in range(0, 2400, 60):
        *parts, y = [p[perm[i:i + 60]] for p in train]
        loss = F.mse_loss(model(*parts), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} train mse {total / 40:.4f}")
with torch.no_grad():
    *parts, y = valid
    err = F.mse_loss(model(*parts), y).item()
print(f"valid mse {err:.4f}, variance of the target {y.var().item():.4f}")
