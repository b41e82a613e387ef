import copy
import random

import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(10, 32), nn.ReLU())
        self.seg = nn.Linear(32, 1)
        self.grade = nn.Linear(32, 1)

    def forward(self, x):
        h = self.shared(x)
        return self.seg(h).squeeze(1), self.grade(h).squeeze(1)


class PCGrad:
    def __init__(self, optimizer):
        self.optimizer = optimizer

    def params(self):
        return [p for group in self.optimizer.param_groups for p in group["params"]]

    def flatten(self, loss):
        self.optimizer.zero_grad()
        loss.backward(retain_graph=True)
        grads = [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in self.params()]
        return torch.cat([g.flatten() for g in grads])

    def project(self, grads):
        projected = copy.deepcopy(grads)
        for g_i in projected:
            random.shuffle(grads)
            for g_j in grads:
                g_i_g_j = torch.dot(g_i, g_j)
                if g_i_g_j <= 0:
                    g_i -= g_i_g_j * g_j / (g_j.norm() ** 2)
        return torch.stack(projected).sum(0)

    def backward(self, losses):
        merged = self.project([self.flatten(loss) for loss in losses])
        start = 0
        for p in self.params():
            p.grad = merged[start : start + p.numel()].view_as(p).clone()
            start += p.numel()

    def step(self):
        self.optimizer.step()


torch.manual_seed(0)
random.seed(0)
model = MultiTask()
optimizer = PCGrad(torch.optim.Adam(model.parameters(), lr=1e-2))
for step in range(200):
    x = torch.randn(12, 10)
    seg, grade = model(x)
    seg_loss = F.mse_loss(seg, x[:, 0] * x[:, 1])
    sign = torch.where(x[:, 2] > 0, 1.0, -1.0)
    grade_loss = F.relu(0.5 - sign * grade).mean()
    optimizer.backward([seg_loss, grade_loss])
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step} seg {seg_loss.item():.4f} grade {grade_loss.item():.4f}")
