import torch
import torch.nn as nn
from torch.optim.lr_scheduler import LRScheduler, StepLR

torch.set_num_threads(1)
torch.manual_seed(0)


class GradualWarmupScheduler(LRScheduler):
    def __init__(self, optimizer, multiplier, total_epoch, after_scheduler=None):
        self.multiplier = multiplier
        self.total_epoch = total_epoch
        self.after_scheduler = after_scheduler
        self.finished = False
        super().__init__(optimizer)

    def get_lr(self):
        if self.last_epoch > self.total_epoch:
            if self.after_scheduler:
                if not self.finished:
                    self.after_scheduler.base_lrs = [base_lr * self.multiplier for base_lr in self.base_lrs]
                    self.finished = True
                    self.after_scheduler.step(self.last_epoch - self.total_epoch)
                return self.after_scheduler.get_last_lr()
            return [base_lr * self.multiplier for base_lr in self.base_lrs]
        if self.multiplier == 1.0:
            return [base_lr * (float(self.last_epoch) / self.total_epoch) for base_lr in self.base_lrs]
        return [base_lr * ((self.multiplier - 1.) * self.last_epoch / self.total_epoch + 1.) for base_lr in self.base_lrs]

    def step(self, epoch=None):
        if self.finished and self.after_scheduler:
            self.after_scheduler.step(None if epoch is None else epoch - self.total_epoch)
            self._last_lr = self.after_scheduler.get_last_lr()
        else:
            super().step(epoch)


x = torch.randn(512, 10)
y = (x @ torch.randn(10, 1)).sin() + 0.1 * torch.randn(512, 1)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
optim = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler_steplr = StepLR(optim, step_size=1, gamma=0.1)
scheduler_warmup = GradualWarmupScheduler(optim, multiplier=1, total_epoch=5, after_scheduler=scheduler_steplr)

optim.zero_grad()
optim.step()
for epoch in range(1, 10):
    scheduler_warmup.step(epoch)
    total = 0.0
    for idx in torch.randperm(512).split(32):
        optim.zero_grad()
        loss = nn.functional.mse_loss(model(x[idx]), y[idx])
        loss.backward()
        optim.step()
        total += loss.item()
    print(epoch, optim.param_groups[0]['lr'], f'loss {total / 16:.4f}')
