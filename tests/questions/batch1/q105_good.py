import torch
import torch.nn as nn
import torch.nn.functional as F


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh())
        self.head = nn.Linear(32, 1)

    def forward(self, x):
        return self.head(self.body(x))


def sample_task():
    amplitude = 0.5 + 2 * torch.rand(1)
    phase = 3 * torch.rand(1)
    x = 6 * torch.rand(20, 1) - 3
    return x, amplitude * torch.sin(x + phase)


def run_with(model, params, x):
    names = [name for name, _ in model.named_parameters()]
    return torch.func.functional_call(model, dict(zip(names, params)), (x,))


def adapt(model, x, y, update_lr, steps=2):
    fast = [p.clone() for p in model.parameters()]
    for _ in range(steps):
        loss = F.mse_loss(run_with(model, fast, x), y)
        grads = torch.autograd.grad(loss, fast, create_graph=True)
        fast = [p - update_lr * g for p, g in zip(fast, grads)]
    return fast


def query_loss(model, fast, x, y):
    return F.mse_loss(run_with(model, fast, x), y)


torch.manual_seed(0)
model = Regressor()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for iteration in range(150):
    meta_loss = 0.0
    for _ in range(4):
        x, y = sample_task()
        fast = adapt(model, x[:10], y[:10], update_lr=0.02)
        meta_loss = meta_loss + query_loss(model, fast, x[10:], y[10:])
    optimizer.zero_grad()
    meta_loss.backward()
    optimizer.step()
    if iteration % 30 == 0:
        print(f"iteration {iteration} meta loss {meta_loss.item() / 4:.4f}")
