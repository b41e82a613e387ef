import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class Segmenter(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.fc1 = nn.Linear(6, 32)
        self.bn1 = nn.BatchNorm1d(32)
        self.fc2 = nn.Linear(32, 32)
        self.bn2 = nn.BatchNorm1d(32)
        self.out = nn.Linear(32, classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.fc1(x)))
        return self.out(F.relu(self.bn2(self.fc2(x))))


class MomentumUpdater:
    def __init__(self, tau=0.95):
        self.tau = tau

    @torch.no_grad()
    def update(self, online_net, momentum_net):
        for op, mp in zip(online_net.parameters(), momentum_net.parameters()):
            mp.mul_(self.tau).add_(op, alpha=1 - self.tau)
        for ob, mb in zip(online_net.buffers(), momentum_net.buffers()):
            mb.copy_(ob)


def points(n):
    x = 3 + 2 * torch.randn(n, 6)
    y = (x[:, 0] > 3).long() * 2 + (x[:, 1] + x[:, 2] > 6).long()
    return x, y


torch.manual_seed(0)
student = Segmenter()
teacher = copy.deepcopy(student)
for p in teacher.parameters():
    p.requires_grad = False
teacher.eval()
updater = MomentumUpdater()
optimizer = torch.optim.Adam(student.parameters(), lr=5e-3)
x_test, y_test = points(1000)

for step in range(200):
    x, y = points(64)
    noisy = x + 0.3 * torch.randn_like(x)
    with torch.no_grad():
        soft = F.softmax(teacher(x), dim=1)
    logits = student(noisy)
    consistency = F.mse_loss(F.softmax(logits, dim=1), soft)
    loss = F.cross_entropy(logits, y) + 0.1 * consistency
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    updater.update(student, teacher)
    if step % 40 == 39:
        student.eval()
        with torch.no_grad():
            accuracy = [(net(x_test).argmax(1) == y_test).float().mean().item() for net in (student, teacher)]
        student.train()
        print(f"step {step} loss {loss.item():.4f} student {accuracy[0]:.3f} teacher {accuracy[1]:.3f}")
