import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class UserPreference(nn.Module):
    def __init__(self, n_in=6, hidden=32):
        super().__init__()
        self.fc1 = nn.Linear(n_in, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.linear_out = nn.Linear(hidden, 1)

    def forward(self, x):
        x = torch.tanh(self.fc1(x))
        x = torch.tanh(self.fc2(x))
        return self.linear_out(x).squeeze(-1)


class MeLU:
    def __init__(self, local_lr=0.5, lr=3e-3):
        self.model = UserPreference()
        self.local_lr = local_lr
        self.meta_optim = torch.optim.Adam(self.model.parameters(), lr=lr)

    def forward(self, support_x, support_y, query_x):
        support_pred = self.model(support_x)
        loss = F.mse_loss(support_pred, support_y)
        grad = torch.autograd.grad(loss, self.model.parameters(), create_graph=True)
        fast_weights = {}
        for (name, weight), g in zip(self.model.named_parameters(), grad, strict=True):
            fast_weights[name] = weight - self.local_lr * g
        return torch.func.functional_call(self.model, fast_weights, (query_x,))

    def global_update(self, tasks):
        self.meta_optim.zero_grad()
        total = 0.0
        for support_x, support_y, query_x, query_y in tasks:
            query_pred = self.forward(support_x, support_y, query_x)
            loss_q = F.mse_loss(query_pred, query_y) / len(tasks)
            loss_q.backward()
            total += loss_q.item()
        self.meta_optim.step()
        return total


def sample_user():
    taste = torch.randn(6)
    x = torch.randn(20, 6)
    y = torch.tanh(x @ taste)
    return x[:10], y[:10], x[10:], y[10:]


melu = MeLU()
running = 0.0
for iteration in range(1, 301):
    running += melu.global_update([sample_user() for _ in range(4)])
    if iteration % 60 == 0:
        print(f"iteration {iteration}: query loss {running / 60:.4f}")
        running = 0.0
