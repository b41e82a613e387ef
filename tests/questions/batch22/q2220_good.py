import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import Optimizer

torch.manual_seed(4)
rng = np.random.default_rng(4)


class AdamG(Optimizer):
    def __init__(self, params, lr=1.0, betas=(0.95, 0.999, 0.95), p=0.2, q=0.24, eps=1e-8):
        super().__init__(params, dict(lr=lr, betas=betas, p=p, q=q, eps=eps))

    @staticmethod
    def debias(beta, step):
        return 1.0 - beta ** step

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            group['step'] = group.get('step', 0) + 1
            beta1, beta2, beta3 = group['betas']
            bias_correction1 = self.debias(beta1, group['step'])
            bias_correction2 = self.debias(beta2, group['step'])
            step_size = min(group['lr'], 1.0 / group['step'] ** 0.5)
            for param in group['params']:
                if param.grad is None:
                    continue
                grad = param.grad
                state = self.state[param]
                if len(state) == 0:
                    state['m'] = torch.zeros_like(param)
                    state['v'] = torch.zeros_like(param)
                    state['r'] = torch.zeros_like(param)
                m, v, r = state['m'], state['v'], state['r']
                v.mul_(beta2).addcmul_(grad, grad, value=1.0 - beta2)
                r.mul_(beta3).add_(group['p'] * v ** group['q'], alpha=1.0 - beta3)
                m.mul_(beta1).addcmul_(r, grad, value=1.0 - beta1)
                update = (m / bias_correction1) / ((v / bias_correction2).sqrt() + group['eps'])
                param.add_(update, alpha=-step_size)


centers = rng.normal(size=(10, 20)) * 1.1
y = rng.integers(0, 10, size=3000)
x = torch.from_numpy((centers[y] + rng.normal(size=(3000, 20))).astype(np.float32))
y = torch.from_numpy(y)
x_train, y_train, x_test, y_test = x[:2400], y[:2400], x[2400:], y[2400:]

model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = AdamG(model.parameters())

for epoch in range(30):
    total = norm = 0.0
    for idx in torch.randperm(len(y_train)).split(40):
        loss = F.cross_entropy(model(x_train[idx]), y_train[idx])
        optimizer.zero_grad()
        loss.backward()
        norm += nn.utils.get_total_norm([p.grad for p in model.parameters()]).item()
        optimizer.step()
        total += loss.item() * len(idx)
    if epoch < 2 or epoch % 5 == 4:
        print(f"epoch {epoch + 1} loss {total / len(y_train):.4f} mean gradient norm {norm / 60:.4g}")

model.eval()
with torch.no_grad():
    acc = (model(x_test).argmax(1) == y_test).float().mean().item()
print(f"test accuracy {acc:.4f}")
