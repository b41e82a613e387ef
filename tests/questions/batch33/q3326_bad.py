import copy

import torch
from torch import nn

torch.manual_seed(0)


class Restorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv1d(1, 12, 5, padding=2), nn.Tanh(), nn.Conv1d(12, 1, 5, padding=2))

    def forward(self, x):
        return x + self.body(x)


class Task:
    def __init__(self):
        self.gain = torch.rand(1) * 1.5 + 0.5
        self.noise = torch.rand(1) * 0.3

    def sample(self, n):
        t = torch.linspace(0, 6.28, 32)
        clean = torch.sin(t + torch.rand(n, 1) * 6.28)[:, None]
        return self.gain * clean + self.noise * torch.randn_like(clean), clean


class MAML:
    def __init__(self, model, inner_lr, meta_lr, inner_steps):
        self.model, self.inner_lr, self.inner_steps = model, inner_lr, inner_steps
        self.weights = list(model.parameters())
        self.meta_optimiser = torch.optim.Adam(self.weights, lr=meta_lr)
        self.criterion = nn.MSELoss()

    def inner_loop(self, task):
        temp_model = copy.deepcopy(self.model)
        temp_weights = list(temp_model.parameters())
        x, y = task.sample(8)
        for _ in range(self.inner_steps):
            loss = self.criterion(temp_model(x), y)
            grads = torch.autograd.grad(loss, temp_weights, create_graph=True)
            for w, g in zip(temp_weights, grads):
                w.data = w.data - self.inner_lr * g
        x, y = task.sample(8)
        return self.criterion(temp_model(x), y)

    def outer_step(self, tasks):
        total = 0
        for task in tasks:
            total = total + self.inner_loop(task)
        meta_grads = torch.autograd.grad(total, self.weights)
        for w, g in zip(self.weights, meta_grads):
            w.grad = g
        self.meta_optimiser.step()
        return total.item() / len(tasks)


def main():
    maml = MAML(Restorer(), inner_lr=0.1, meta_lr=3e-3, inner_steps=2)
    for it in range(60):
        loss = maml.outer_step([Task() for _ in range(4)])
        if it % 20 == 0:
            print(it, f"{loss:.4f}")
    print(f"last {loss:.4f}")


main()
