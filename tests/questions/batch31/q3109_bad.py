import torch
import torch.nn as nn

torch.manual_seed(0)
torch.set_num_threads(1)


def make_events(n, length=12):
    gap = torch.rand(n, length) * 3 + 0.5
    lon = 139.0 + 0.4 * torch.rand(n, 1) + 0.2 * torch.sin(gap.cumsum(1))
    lat = 35.0 + 0.5 * torch.rand(n, 1) + 0.1 * gap
    gap[:, 1:] = 0.5 * gap[:, 1:] + 0.5 * gap[:, :-1]
    return torch.stack([gap, lon, lat], -1)


train = make_events(600)
test = make_events(100)
MAX = train.amax((0, 1))
MIN = train.amin((0, 1))


def normalization(x):
    return (x - MIN) / (MAX - MIN)


def denormalization(z):
    return (z + MIN) * (MAX - MIN)


class NextEvent(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.rnn = nn.GRU(3, dim, batch_first=True)
        self.head = nn.Linear(dim, 3)

    def forward(self, x):
        return self.head(self.rnn(x)[0])


model = NextEvent()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
loss_fn = nn.MSELoss()
z = normalization(train)
z_test = normalization(test)
for epoch in range(10):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(z)).split(50):
        loss = loss_fn(model(z[idx, :-1]), z[idx, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        sampled = model(z_test[:, :-1])
        real = denormalization(z_test[:, 1:])
        gen = denormalization(sampled)
        mape = ((gen - real).abs() / real.abs()).mean((0, 1))
        rmse = (gen - real).pow(2).mean((0, 1)).sqrt()
    if epoch % 3 == 0:
        print(f"epoch {epoch} train loss {total / 12:.5f} time rmse {rmse[0]:.3f} mape {mape[0]:.3f} "
              f"mean lon {gen[..., 1].mean():.2f} lat {gen[..., 2].mean():.2f}")
