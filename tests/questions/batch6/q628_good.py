import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class LargeModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(10, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 6)
        )

    def forward(self, x):
        return self.net(x)


class SmallModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 12), nn.ReLU(), nn.Linear(12, 6))

    def forward(self, x):
        return self.net(x)


class Configs:
    temperature = 3.0
    soft_targets = 0.9
    label_loss = 0.1

    def __init__(self, large, small):
        self.large, self.small = large, small
        self.kl_div_loss = nn.KLDivLoss(log_target=True, reduction="batchmean")
        self.loss_func = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(small.parameters(), lr=3e-3)

    def step(self, data, target):
        self.large.eval()
        self.small.train()
        with torch.no_grad():
            large_logits = self.large(data)
        output = self.small(data)
        soft_targets = F.log_softmax(large_logits / self.temperature, dim=-1)
        soft_prob = F.log_softmax(output / self.temperature, dim=-1)
        soft_targets_loss = self.kl_div_loss(soft_prob, soft_targets)
        label_loss = self.loss_func(output, target)
        loss = self.soft_targets * soft_targets_loss + self.label_loss * label_loss
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


centers = torch.randn(6, 10)
labels = torch.randint(0, 6, (900,))
x = centers[labels] + torch.randn(900, 10)
large = LargeModel()
teacher_optimizer = torch.optim.Adam(large.parameters(), lr=2e-3)
for _ in range(60):
    teacher_loss = F.cross_entropy(large(x), labels)
    teacher_optimizer.zero_grad()
    teacher_loss.backward()
    teacher_optimizer.step()
large.requires_grad_(False)
conf = Configs(large, SmallModel())
for epoch in range(1, 16):
    total = 0.0
    for index in torch.randperm(900).split(60):
        total += conf.step(x[index], labels[index])
    if epoch % 3 == 0:
        with torch.no_grad():
            gap = (conf.small(x).softmax(1) - large(x).softmax(1)).abs().sum(1).mean().item()
        print(f"epoch {epoch}: loss {total / 15:.4f}, difference from the large model {gap:.3f}")
