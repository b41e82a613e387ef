import torch
import torch.nn as nn


class AverageMeter:
    def __init__(self):
        self.val = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum = self.sum + n * val
        self.count += n

    @property
    def avg(self):
        return self.sum / self.count


class TargetNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.box = nn.Linear(64, 4)
        self.score = nn.Linear(64, 1)

    def forward(self, x):
        h = self.backbone(x)
        return self.box(h), self.score(h).squeeze(1)


class Trainer:
    def __init__(self, net):
        self.net = net
        self.optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
        self.stats = {}

    def update_stats(self, new, batch_size):
        for name, value in new.items():
            self.stats.setdefault(name, AverageMeter()).update(value, batch_size)

    def cycle(self, x, box, inside):
        pred_box, pred_score = self.net(x)
        loss_box = (pred_box - box).abs().mean()
        loss_score = nn.functional.binary_cross_entropy_with_logits(pred_score, inside)
        loss = loss_box + loss_score
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.update_stats({"total": loss, "box": loss_box, "score": loss_score}, len(x))


torch.manual_seed(0)
trainer = Trainer(TargetNet())
for step in range(200):
    x = torch.randn(64, 32)
    trainer.cycle(x, x[:, :4] + x[:, 4:8], (x[:, 0] > 0).float())
    if step % 40 == 0:
        print(step, {name: round(float(meter.avg), 4) for name, meter in trainer.stats.items()})
