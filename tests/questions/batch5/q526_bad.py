import torch
from torch import nn

torch.manual_seed(0)


class MultiTask(nn.Module):
    def __init__(self, n_in, width, tasks):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(n_in, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.heads = nn.ModuleList(nn.Linear(width, 1) for _ in range(tasks))

    def forward(self, x, task):
        return self.heads[task](self.trunk(x))


class Task:
    def __init__(self, n_in):
        self.direction = torch.randn(n_in, 1)
        self.offset = 3 * torch.randn(())

    def batch(self, n):
        x = torch.randn(n, self.direction.shape[0])
        return x, 4 * torch.sin(x @ self.direction) + self.offset


gradient_accumulation_steps = 4
max_grad_norm = 1.0
tasks = [Task(3) for _ in range(4)]
model = MultiTask(3, 64, len(tasks))
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
running = torch.zeros(4)
for step in range(1, 4001):
    number = (step - 1) % 4
    x, y = tasks[number].batch(32)
    loss = criterion(model(x, number), y)
    (loss / gradient_accumulation_steps).backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)
    running[number] += loss.item()
    if step % gradient_accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
    if step % 800 == 0:
        print(f"step {step}: losses of the tasks", [round(value / 200, 3) for value in running.tolist()])
        running.zero_()
