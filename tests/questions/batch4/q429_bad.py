import math

import torch
from torch import nn
from torch.nn import functional as F
from torch.optim.optimizer import Optimizer

torch.manual_seed(0)


class RAdam(Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            sma_inf = 2 / (1 - beta2) - 1
            for p in group["params"]:
                if p.grad is None:
                    continue
                grad = p.grad
                state = self.state[p]
                if len(state) == 0:
                    state["step"] = 0
                    state["exp_avg"] = torch.zeros_like(p)
                    state["exp_avg_sq"] = torch.zeros_like(p)
                exp_avg, exp_avg_sq = state["exp_avg"], state["exp_avg_sq"]
                state["step"] += 1
                bias_correction1 = 1 - beta1 ** state["step"]
                bias_correction2 = 1 - beta2 ** state["step"]
                exp_avg.mul_(beta1).add_(grad, alpha=1 - beta1)
                exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
                exp_avg.div_(bias_correction1)
                sma_t = sma_inf - 2 * state["step"] * (1 - bias_correction2) / bias_correction2
                if sma_t > 4:
                    exp_avg_sq.div_(bias_correction2)
                    r_t = math.sqrt(
                        (sma_t - 4) * (sma_t - 2) * sma_inf / ((sma_inf - 4) * (sma_inf - 2) * sma_t)
                    )
                    p.addcdiv_(exp_avg, exp_avg_sq.sqrt().add_(group["eps"]), value=-group["lr"] * r_t)
                else:
                    p.add_(exp_avg, alpha=-group["lr"])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3)
        )

    def forward(self, x):
        return self.layers(x)


x = torch.randn(1024, 12)
y = ((x[:, 0] * x[:, 1] > 0).long() + (x[:, 2] > 0.5).long()).clamp(max=2)
model = Net()
optimizer = RAdam(model.parameters(), lr=1e-2)
for epoch in range(12):
    total = 0.0
    for idx in torch.randperm(1024).split(64):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[idx]), y[idx])
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 2:
        print(f"epoch {epoch}: loss {total / 16:.4f}")
