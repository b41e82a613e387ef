import io
import torch
import torch.nn as nn


class WarmupPolynomialLRScheduler:
    def __init__(self, param_groups, num_warmup_steps, start_lr, end_lr, decay_steps, power):
        self.param_groups = param_groups
        self.num_warmup_steps = num_warmup_steps
        self.start_lr, self.end_lr = start_lr, end_lr
        self.decay_steps, self.power = decay_steps, power

    def update_lr(self, current_step):
        if current_step < self.num_warmup_steps:
            new_lr = self.start_lr * (current_step + 1) / self.num_warmup_steps
        else:
            done = (current_step - self.num_warmup_steps) / (self.decay_steps - self.num_warmup_steps)
            new_lr = (self.start_lr - self.end_lr) * (1 - done) ** self.power + self.end_lr
        for param_group in self.param_groups:
            param_group["lr"] = new_lr
        return new_lr


class Saver:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def save(self, store, step):
        store.seek(0)
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "step": step}, store)

    def restore(self, store):
        if store.getbuffer().nbytes == 0:
            return 0
        store.seek(0)
        checkpoint = torch.load(store)
        self.model.load_state_dict(checkpoint["model"])
        self.optimizer.load_state_dict(checkpoint["optimizer"])
        return checkpoint["step"]


def train(store, stop_at, max_steps=3000):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 64), nn.Tanh(), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0, momentum=0.9)
    lr_scheduler = WarmupPolynomialLRScheduler(optimizer.param_groups, 100, 0.1, 0.0, max_steps, 1.0)
    saver = Saver(model, optimizer)
    last_step = saver.restore(store)
    g = torch.Generator().manual_seed(last_step)
    running = 0.0
    for step in range(last_step, stop_at):
        x = torch.randn(32, 3, generator=g)
        y = torch.sin(x.sum(1, keepdim=True)) + torch.randn(32, 1, generator=g) * 0.5
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        new_lr = lr_scheduler.update_lr(step)
        optimizer.step()
        running = 0.98 * running + 0.02 * loss.item()
        if step % 300 == 299:
            print(f"step {step + 1} loss {running:.4f} scheduler lr {new_lr:.4f} optimizer lr {optimizer.param_groups[0]['lr']:.4f}")
    saver.save(store, stop_at)
    return model


logdir = io.BytesIO()
train(logdir, 900)
print("restarted from the checkpoint")
model = train(logdir, 3000)
g = torch.Generator().manual_seed(99)
x = torch.randn(5000, 3, generator=g)
with torch.no_grad():
    error = (model(x) - torch.sin(x.sum(1, keepdim=True))).pow(2).mean().item()
print(f"error without noise {error:.4f}")
