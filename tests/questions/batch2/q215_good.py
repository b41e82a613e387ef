import torch
import torch.nn as nn
from torch.func import functional_call


class RouteModel(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1)
        )

    def forward(self, x):
        return self.net(x)


class MAML:
    def __init__(self, model, inner_lr=0.1, outer_lr=3e-3):
        self.model, self.inner_lr = model, inner_lr
        self.criterion = nn.MSELoss()
        self.meta_optimizer = torch.optim.Adam(self.model.parameters(), lr=outer_lr)

    def inner_update(self, model, support_x, support_y):
        names, params = zip(*model.named_parameters())
        loss = self.criterion(model(support_x), support_y)
        grads = torch.autograd.grad(loss, params, create_graph=True)
        fast = {n: p - self.inner_lr * g for n, p, g in zip(names, params, grads)}
        return lambda x: functional_call(model, fast, (x,))

    def meta_train_step(self, tasks):
        meta_loss = 0.0
        for support_x, support_y, query_x, query_y in tasks:
            adapted = self.inner_update(self.model, support_x, support_y)
            meta_loss = meta_loss + self.criterion(adapted(query_x), query_y)
        meta_loss = meta_loss / len(tasks)
        self.outer_update(meta_loss)
        return meta_loss.item()

    def outer_update(self, meta_loss):
        self.meta_optimizer.zero_grad()
        meta_loss.backward()
        self.meta_optimizer.step()


def sample_task():
    amplitude, phase = 1 + torch.rand(1), 3.14 * torch.rand(1)
    x = 6 * torch.rand(30, 1) - 3
    y = amplitude * torch.sin(x + phase)
    return x[:10], y[:10], x[10:], y[10:]


torch.manual_seed(0)
maml = MAML(RouteModel())
losses = []
for it in range(200):
    losses.append(maml.meta_train_step([sample_task() for _ in range(4)]))
    if it % 40 == 39:
        print(f"iteration {it} query loss {sum(losses[-40:]) / 40:.4f}")
