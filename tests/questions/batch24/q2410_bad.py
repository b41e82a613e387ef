import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)
K, DIM = 6, 16


class TaskBalancer:
    def __init__(self, n_tasks, w_lr=0.02, max_norm=1.0):
        self.w = torch.zeros(n_tasks, requires_grad=True)
        self.w_opt = torch.optim.Adam([self.w], lr=w_lr)
        self.max_norm = max_norm

    def weighted_loss(self, losses):
        self.prev_loss = losses.detach()
        return (F.softmax(self.w, -1) * losses).sum()

    def update(self, curr_loss):
        delta = (self.prev_loss + 1e-8).log() - (curr_loss + 1e-8).log()
        with torch.enable_grad():
            g = torch.autograd.grad(F.softmax(self.w, -1), self.w, grad_outputs=delta.detach())[0]
        self.w_opt.zero_grad()
        self.w.grad = g
        self.w_opt.step()

    def backward(self, losses, shared_parameters):
        loss = self.weighted_loss(losses)
        if self.max_norm > 0:
            nn.utils.clip_grad_norm_(shared_parameters, self.max_norm)
        loss.backward()
        return loss


class MultiTaskNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(DIM, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.heads = nn.ModuleList(nn.Linear(64, 1) for _ in range(K))

    def forward(self, x):
        h = self.trunk(x)
        return torch.cat([head(h) for head in self.heads], 1)


def sample(n, w, noisy=True):
    x = torch.randn(n, DIM)
    y = torch.sin(x @ w) * torch.linspace(1.0, 3.0, K)
    if noisy:
        spikes = (torch.rand(n, K) < 0.01).float() * torch.randn(n, K) * 60.0
        y = y + spikes
    return x, y


w_true = torch.randn(DIM, K) * 0.3
x_test, y_test = sample(2000, w_true, noisy=False)
model = MultiTaskNet()
balancer = TaskBalancer(K)
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

for it in range(2000):
    x, y = sample(64, w_true)
    losses = ((model(x) - y) ** 2).mean(0)
    opt.zero_grad()
    balancer.backward(losses, list(model.parameters()))
    opt.step()
    with torch.no_grad():
        balancer.update(((model(x) - y) ** 2).mean(0))
    if it % 400 == 399:
        with torch.no_grad():
            err = ((model(x_test) - y_test) ** 2).mean().item()
        print(f"iter {it + 1}  train {losses.mean().item():.3f}  test mse {err:.3f}")

print(f"variance of targets {y_test.var().item():.3f}  final test mse {err:.3f}")
