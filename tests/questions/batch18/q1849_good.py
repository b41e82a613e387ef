import torch
from torch import nn

torch.manual_seed(8)
N_FEATURES, N_TASKS = 20, 2


class MTL(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(N_FEATURES, hidden), nn.ReLU())
        self.scoring_list = nn.ModuleList(
            nn.Sequential(nn.Linear(hidden, 16), nn.ReLU(), nn.Linear(16, 2)) for _ in range(N_TASKS)
        )

    def forward(self, x, task):
        return self.scoring_list[task](self.shared(x))


directions = torch.randn(N_TASKS, N_FEATURES)


def batches(task, n=40, size=64):
    for _ in range(n):
        x = torch.randn(size, N_FEATURES)
        yield x, (x @ directions[task] > 0).long()


def freeze_other_tasks(model, task):
    for i, head in enumerate(model.scoring_list):
        for param in head.parameters():
            param.requires_grad = i == task
            param.grad = None


def head_weights(model, task):
    return torch.cat([p.detach().flatten() for p in model.scoring_list[task].parameters()])


model = MTL()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=1e-3)

for epoch in range(6):
    task = epoch % N_TASKS
    freeze_other_tasks(model, task)
    before = [head_weights(model, i) for i in range(N_TASKS)]
    total = 0.0
    for x, y in batches(task):
        optimizer.zero_grad(set_to_none=False)
        loss = criterion(model(x, task), y)
        loss.backward()
        optimizer.step()
        total += loss.item() / 40
    moved = [(head_weights(model, i) - before[i]).abs().max().item() for i in range(N_TASKS)]
    print(
        f"epoch {epoch + 1}, task {task + 1}: loss {total:.3f}, "
        f"largest change in the head of task 1 {moved[0]:.4f}, of task 2 {moved[1]:.4f}"
    )
