import torch
import torch.nn as nn

torch.manual_seed(3)
N_FEATURES = 12


def simulate(n, gen):
    x = torch.randn(n, N_FEATURES, generator=gen)
    log_rate = 1.2 * x[:, 0] - 0.9 * x[:, 1] + 0.8 * x[:, 2] * x[:, 3] - 0.3
    u = torch.rand(n, generator=gen).clamp(1e-6, 1 - 1e-6)
    t_event = -torch.log(u) / log_rate.exp()
    v = torch.rand(n, generator=gen).clamp(1e-6, 1 - 1e-6)
    t_censor = -torch.log(v) / 0.5
    time = torch.minimum(t_event, t_censor)
    event = (t_event <= t_censor).long()
    return x, time, event


class HazardNet(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(N_FEATURES, hidden), nn.Tanh(), nn.Dropout(0.1),
            nn.Linear(hidden, hidden), nn.Tanh(),
        )
        self.out = nn.Linear(hidden, 1, bias=False)

    def forward(self, x):
        return self.out(self.body(x)).squeeze(-1)


def partial_likelihood(log_hz, event, time):
    order = torch.argsort(time)
    log_hz, event = log_hz[order], event[order]
    log_denominator = torch.logcumsumexp(log_hz.flip(0), dim=0).flip(0)
    return (log_hz - log_denominator)[event == 1]


def neg_partial_log_likelihood(log_hz, event, time):
    return -partial_likelihood(log_hz, event, time).mean()


@torch.no_grad()
def concordance(model, x, time, event):
    model.eval()
    risk = model(x)
    earlier = (time[:, None] < time[None, :]) & (event[:, None] == 1)
    right = (risk[:, None] > risk[None, :])[earlier]
    return right.float().mean().item()


gen = torch.Generator().manual_seed(11)
x_train, t_train, e_train = simulate(1200, gen)
x_test, t_test, e_test = simulate(800, gen)

model = HazardNet()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-3)

for epoch in range(60):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(x_train)).split(200):
        optimizer.zero_grad()
        log_hz = model(x_train[idx])
        loss = neg_partial_log_likelihood(log_hz, e_train[idx], t_train[idx])
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 15 == 14:
        print(f"epoch {epoch + 1}: loss {total / 6:.4f}  c-index {concordance(model, x_test, t_test, e_test):.4f}")

print(f"train c-index {concordance(model, x_train, t_train, e_train):.4f}")
print(f"test c-index {concordance(model, x_test, t_test, e_test):.4f}")
