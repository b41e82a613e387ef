import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(0)


class LearningRateScheduler:
    def __init__(self, optimizer, init_lr):
        self.optimizer, self.init_lr = optimizer, init_lr

    @staticmethod
    def set_lr(optimizer, lr):
        for g in optimizer.param_groups:
            g["lr"] = lr


class ReduceLROnPlateauScheduler(LearningRateScheduler):
    def __init__(self, optimizer, lr, patience=1, factor=0.3):
        super().__init__(optimizer, lr)
        self.lr = lr
        self.patience = patience
        self.factor = factor
        self.val_loss = 100.0
        self.count = 0

    def step(self, val_loss):
        if val_loss is not None:
            if self.val_loss < val_loss:
                self.count += 1
                self.val_loss = val_loss
            else:
                self.count = 0
                self.val_loss = val_loss

            if self.patience == self.count:
                self.count = 0
                self.lr *= self.factor
                self.set_lr(self.optimizer, self.lr)

        return self.lr


teacher = nn.Sequential(nn.Linear(12, 24), nn.Tanh(), nn.Linear(24, 1))
with torch.no_grad():
    x = torch.randn(1500, 12)
    y = 3 * teacher(x) + 0.3 * torch.randn(1500, 1)
x_train, y_train, x_val, y_val = x[:1200], y[:1200], x[1200:], y[1200:]
model = nn.Sequential(nn.Linear(12, 48), nn.Tanh(), nn.Linear(48, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.5)
scheduler = ReduceLROnPlateauScheduler(optimizer, lr=0.3, patience=4, factor=0.3)
for epoch in range(30):
    model.train()
    for idx in torch.randperm(1200).split(16):
        loss = F.mse_loss(model(x_train[idx]), y_train[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        val_loss = F.mse_loss(model(x_val), y_val).item()
    lr = scheduler.step(val_loss)
    if epoch % 3 == 2:
        print(f"epoch {epoch}  train loss {loss.item():.4f}  val loss {val_loss:.4f}  lr {lr:.5f}")
