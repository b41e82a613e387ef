import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(2)
rng = np.random.default_rng(2)
U_MAX, Y_MAX = 4.0, 3.0


def plant(y, v, u):
    acc = u - 0.8 * v - 1.5 * np.sin(y)
    v = v + 0.1 * acc
    return y + 0.1 * v, v


def record(steps):
    rows, nxt = [], []
    y = v = 0.0
    for t in range(steps):
        if t % 60 == 0:
            y, v = rng.uniform(-2, 2), rng.uniform(-2, 2)
        u = rng.uniform(-U_MAX, U_MAX)
        y2, v2 = y, v
        for _ in range(5):
            y2, v2 = plant(y2, v2, u)
        rows.append([y / Y_MAX, v / Y_MAX, u / U_MAX])
        nxt.append([y2 / Y_MAX])
        y, v = y2, v2
    return torch.tensor(np.array(rows), dtype=torch.float32), torch.tensor(np.array(nxt), dtype=torch.float32)


X_id, Y_id = record(3000)
ss_model = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
opt_id = torch.optim.Adam(ss_model.parameters(), lr=3e-3)
for step in range(600):
    idx = torch.randint(0, len(X_id), (256,))
    fit = ((ss_model(X_id[idx]) - Y_id[idx]) ** 2).mean()
    opt_id.zero_grad()
    fit.backward()
    opt_id.step()
print(f"identified model, mse {fit.item():.6f}")

dpc = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 1), nn.Tanh())
optimizer = torch.optim.Adam(dpc.parameters(), lr=3e-3)
criterion = nn.MSELoss()

for step in range(800):
    X = torch.rand(64, 2) * 1.2 - 0.6
    desired = torch.zeros(64, 1)
    optimizer.zero_grad()
    output = dpc(X)
    input_ssm = torch.cat([X, output], dim=1)
    y = ss_model(input_ssm) * Y_MAX
    loss = criterion(y, desired)
    loss.backward()
    optimizer.step()
    if step % 200 == 0:
        print(f"step {step} control loss {loss.item():.4f}")

errors = []
with torch.no_grad():
    for _ in range(40):
        y, v = rng.uniform(-1.5, 1.5), rng.uniform(-0.5, 0.5)
        for t in range(20):
            u = dpc(torch.tensor([[y / Y_MAX, v / Y_MAX]], dtype=torch.float32)).item() * U_MAX
            for _ in range(5):
                y, v = plant(y, v, u)
            if t >= 2:
                errors.append(abs(y))
print(f"final control loss {loss.item():.4f}  mean |y| in closed loop {np.mean(errors):.4f}")
