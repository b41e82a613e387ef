import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Learner(nn.Module):
    def __init__(self):
        super().__init__()
        self.vars = nn.ParameterList()
        for n_in, n_out in [(1, 32), (32, 32), (32, 1)]:
            weight = nn.Parameter(torch.empty(n_out, n_in))
            nn.init.xavier_normal_(weight)
            self.vars.append(weight)
            self.vars.append(nn.Parameter(torch.zeros(n_out)))

    def forward(self, x, vars=None):
        if vars is None:
            vars = list(self.vars)
        x = torch.tanh(F.linear(x, vars[0], vars[1]))
        x = torch.tanh(F.linear(x, vars[2], vars[3]))
        return F.linear(x, vars[4], vars[5])


class MetaLearner(nn.Module):
    def __init__(self, update_lr=0.03, meta_lr=2e-3, update_step=3):
        super().__init__()
        self.net = Learner()
        self.update_lr, self.update_step = update_lr, update_step
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=meta_lr)

    def inner_update(self, x, fast_weights, y):
        loss = F.mse_loss(self.net(x, fast_weights), y)
        grad = torch.autograd.grad(loss, fast_weights, allow_unused=False, create_graph=True)
        return [p - self.update_lr * g for p, g in zip(fast_weights, grad, strict=True)]

    def forward(self, tasks):
        meta_loss = 0.0
        for x_traj, y_traj, x_rand, y_rand in tasks:
            fast_weights = list(self.net.vars)
            for _ in range(self.update_step):
                fast_weights = self.inner_update(x_traj, fast_weights, y_traj)
            meta_loss = meta_loss + F.mse_loss(self.net(x_rand, fast_weights), y_rand)
        meta_loss = meta_loss / len(tasks)
        self.optimizer.zero_grad()
        meta_loss.backward()
        self.optimizer.step()
        return meta_loss.item()


def sample_task():
    amplitude, phase = 1 + 2 * torch.rand(()), 3.14 * torch.rand(())
    x = 6 * torch.rand(20, 1) - 3
    y = amplitude * torch.sin(x + phase)
    return x[:10], y[:10], x[10:], y[10:]


maml = MetaLearner()
window = []
for step in range(240):
    window.append(maml([sample_task() for _ in range(4)]))
    if (step + 1) % 40 == 0:
        print(f"step {step + 1}: loss after adaptation {sum(window) / len(window):.4f}")
        window = []
