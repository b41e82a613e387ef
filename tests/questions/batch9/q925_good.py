import torch
import torch.nn as nn


class FeedForward(nn.Module):
    def __init__(self, dim=64, hidden=256):
        super().__init__()
        self.fc1 = nn.Linear(dim, hidden)
        self.fc2 = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x))).squeeze(-1)


class ShardedOptimizer:
    def __init__(self, params, lr):
        self.master = list(params)
        self.half_grads = []
        self.optim = torch.optim.SGD(self.master, lr=lr, momentum=0.9)

    def collect(self):
        self.half_grads = [p.grad.half() for p in self.master]

    def clip_grad_norm(self, max_norm, norm_type=2.0):
        local_norm = sum(torch.sum(torch.pow(torch.abs(g.float()), norm_type)) for g in self.half_grads)
        total_norm = local_norm ** (1.0 / norm_type)
        clip_coef = max_norm / (total_norm.float() + 1e-6)
        if clip_coef < 1:
            for g in self.half_grads:
                g.mul_(clip_coef)
        return total_norm

    def step(self):
        for p, g in zip(self.master, self.half_grads):
            p.grad.copy_(g)
        self.optim.step()

    def zero_grad(self):
        self.optim.zero_grad()


torch.manual_seed(0)
model = FeedForward()
optimizer = ShardedOptimizer(model.parameters(), lr=0.05)
x = torch.randn(512, 64)
y = 300.0 + 80.0 * x[:, 0]
for step in range(300):
    idx = torch.randint(0, 512, (64,))
    loss = (model(x[idx]) - y[idx]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.collect()
    norm = optimizer.clip_grad_norm(max_norm=1.0)
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step}: loss {loss.item():.1f}, grad norm {norm.item():.1f}")
