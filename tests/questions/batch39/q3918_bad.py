import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import Optimizer


class SignSGD(Optimizer):
    def __init__(self, params, lr=1e-3, momentum=0.9, weight_decay=0.0, weight_decouple=True):
        if lr <= 0.0:
            raise ValueError("lr must be positive")
        if weight_decay < 0.0:
            raise ValueError("weight_decay must not be negative")
        defaults = dict(lr=lr, momentum=momentum, weight_decay=weight_decay, weight_decouple=weight_decouple)
        super().__init__(params, defaults)

    @staticmethod
    def apply_weight_decay(p, grad, lr, weight_decay, weight_decouple):
        if weight_decouple:
            p.mul_(1.0 - weight_decay * lr)
        elif weight_decay > 0.0:
            grad.add_(p, alpha=weight_decay)

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            momentum = group["momentum"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                grad = p.grad
                state = self.state[p]
                if len(state) == 0 and momentum > 0.0:
                    state["momentum_buffer"] = torch.zeros_like(p)
                if momentum > 0.0:
                    buf = state["momentum_buffer"]
                    buf.mul_(momentum).add_(grad, alpha=1.0 - momentum)
                else:
                    buf = grad
                p.add_(torch.sign(buf), alpha=-group["lr"])
        return loss


def make(n, g):
    x = torch.randn(n, 40, generator=g)
    logit = 1.5 * x[:, 0] - 1.5 * x[:, 1] + x[:, 2] * x[:, 3]
    y = (logit + 1.0 * torch.randn(n, generator=g) > 0).long()
    return x, y


def run(weight_decay):
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(0)
    x, y = make(300, g)
    val_x, val_y = make(2000, g)
    model = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = SignSGD(model.parameters(), lr=1e-3, weight_decay=weight_decay)
    for epoch in range(80):
        total = 0.0
        for i in torch.randperm(len(x)).split(50):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[i]), y[i])
            loss.backward()
            optimizer.step()
            total += loss.item() / 6
    with torch.no_grad():
        val = F.cross_entropy(model(val_x), val_y).item()
        norm = torch.cat([p.flatten() for p in model.parameters()]).norm().item()
    print(f"weight_decay {weight_decay} train loss {total:.4f} validation loss {val:.4f} norm of the weights {norm:.3f}")


for weight_decay in (0.0, 1.0, 5.0):
    run(weight_decay)
