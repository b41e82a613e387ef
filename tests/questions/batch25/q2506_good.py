import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

CLASSES, DIM = 8, 20
STEPS, BATCH = 2500, 32
centers = torch.randn(CLASSES, DIM) * 0.75


def pairs(n, noise):
    y = torch.randint(0, CLASSES, (n,))
    x = centers[y] + torch.randn(n, DIM)
    wrong = torch.rand(n) < noise
    return x, torch.where(wrong, torch.randint(0, CLASSES, (n,)), y)


class Distiller:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(DIM, 128), nn.ReLU(), nn.Linear(128, 128),
                                   nn.ReLU(), nn.Linear(128, CLASSES))
        self.teacher = copy.deepcopy(self.model)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.06, momentum=0.9)
        self.kl_weight = 0.5
        self.decay = 0.995

    def ema(self, s, t):
        return s * self.decay + t * (1 - self.decay)

    @torch.no_grad()
    def update_teacher(self):
        for teacher, student in zip(self.teacher.parameters(), self.model.parameters()):
            teacher.data.copy_(self.ema(teacher.data, student.data))

    def train_step(self, x, y, unlabeled):
        with torch.no_grad():
            target = F.softmax(self.teacher(unlabeled), dim=1)
        view = unlabeled + 0.3 * torch.randn_like(unlabeled)
        loss = F.cross_entropy(self.model(x), y)
        loss = loss + self.kl_weight * F.kl_div(F.log_softmax(self.model(view), dim=1), target,
                                                reduction="batchmean")
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.update_teacher()
        return loss.item()


@torch.no_grad()
def score(net, x, y):
    logits = net(x)
    return (logits.argmax(1) == y).float().mean().item(), F.cross_entropy(logits, y).item()


train_x, train_y = pairs(40000, noise=0.45)
test_x, test_y = pairs(4000, noise=0.0)
job = Distiller()
for step in range(STEPS):
    idx = torch.randint(0, len(train_x), (BATCH,))
    unlabeled, _ = pairs(BATCH, noise=0.0)
    loss = job.train_step(train_x[idx], train_y[idx], unlabeled)
    if step % 500 == 0:
        print(f"step {step:5d}  loss {loss:.3f}  teacher {score(job.teacher, test_x, test_y)[0]:.3f}")

for name, net in (("student", job.model), ("teacher", job.teacher)):
    accuracy, ce = score(net, test_x, test_y)
    print(f"{name}: test accuracy {accuracy:.3f}  cross entropy {ce:.3f}")
