import torch
import torch.nn as nn
import torch.nn.functional as F


class Learner(nn.Module):
    """Representation layers (rln) and prediction layers (pln), all kept in one list of parameters."""

    def __init__(self, hidden=40):
        super().__init__()
        self.vars = nn.ParameterList()
        for n_in, n_out in ((2, hidden), (hidden, hidden), (hidden, hidden), (hidden, 1)):
            w = nn.Parameter(torch.empty(n_out, n_in))
            nn.init.xavier_normal_(w)
            self.vars.append(w)
            self.vars.append(nn.Parameter(torch.zeros(n_out)))

    def forward(self, x, vars=None):
        vars = list(self.vars) if vars is None else vars
        for i in range(0, len(vars), 2):
            x = F.linear(x, vars[i], vars[i + 1])
            if i + 2 < len(vars):
                x = torch.tanh(x)
        return x


class MetaLearner:
    def __init__(self, update_lr=0.02, meta_lr=2e-3):
        self.net = Learner()
        self.update_lr = update_lr
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=meta_lr)

    def inner_update(self, x, fast_weights, y):
        loss = F.mse_loss(self.net(x, fast_weights), y)
        grad = torch.autograd.grad(loss, fast_weights)
        return [w - self.update_lr * g for w, g in zip(fast_weights, grad)]

    def meta_step(self, x_traj, y_traj, x_rand, y_rand):
        fast_weights = list(self.net.vars)
        for k in range(len(x_traj)):
            fast_weights = self.inner_update(x_traj[k : k + 1], fast_weights, y_traj[k : k + 1])
        meta_loss = F.mse_loss(self.net(x_rand, fast_weights), y_rand)
        self.optimizer.zero_grad()
        meta_loss.backward()
        self.optimizer.step()
        return meta_loss.item()


def sample_trajectory(n=6):
    amplitude, phase, sign = 0.5 + torch.rand(1), 3.14 * torch.rand(1), 1.0
    x = torch.stack([4 * torch.rand(40) - 2, torch.full((40,), sign)], dim=1)
    y = amplitude * torch.sin(x[:, :1] + phase)
    return x[:n], y[:n], x[n:], y[n:]


torch.manual_seed(0)
meta = MetaLearner()
history = []
for step in range(400):
    history.append(meta.meta_step(*sample_trajectory()))
    if step % 80 == 79:
        print(f"step {step} meta loss {sum(history[-80:]) / 80:.4f}")
