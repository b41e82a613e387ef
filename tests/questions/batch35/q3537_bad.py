import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(16)


def mlp(hidden):
    return nn.Sequential(nn.Linear(10, hidden), nn.ReLU(), nn.Linear(hidden, 5))


class Distiller:
    def __init__(self, teacher, student, temperature=3.0):
        self.teacher = teacher.eval()
        self.student = student
        self.temperature = temperature
        self.optimizer = torch.optim.Adam(student.parameters(), lr=3e-3)

    def distill_loss(self, x):
        with torch.no_grad():
            target = F.softmax(self.teacher(x) / self.temperature, dim=1)
        guess = F.softmax(self.student(x) / self.temperature, dim=1)
        return F.kl_div(guess, target, reduction="batchmean")

    def step(self, x):
        loss = self.distill_loss(x)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def distance(self, x):
        p = F.softmax(self.teacher(x) / self.temperature, dim=1)
        q = F.softmax(self.student(x) / self.temperature, dim=1)
        return (p * (p.log() - q.log())).sum(1).mean().item()


def train_teacher(x, y):
    teacher = mlp(64)
    optimizer = torch.optim.Adam(teacher.parameters(), lr=3e-3)
    for _ in range(200):
        optimizer.zero_grad()
        F.cross_entropy(teacher(x), y).backward()
        optimizer.step()
    return teacher


def main():
    x = torch.randn(1000, 10)
    y = (x @ torch.randn(10, 5) + torch.randn(1000, 5)).argmax(1)
    distiller = Distiller(train_teacher(x, y), mlp(24))
    for step in range(400):
        loss = distiller.step(x[torch.randint(0, 1000, (128,))])
        if step % 100 == 0:
            print(f"step {step}: loss {loss:.4f}")
    print(f"loss {loss:.4f} divergence from the teacher {distiller.distance(x):.4f}")


main()
