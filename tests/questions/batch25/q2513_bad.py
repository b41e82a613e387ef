import math
import os
import tempfile
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

TOTAL = 1200
STOP = 800
WARMUP = 100
x_train = torch.randn(4096, 16)
teacher = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 4))
with torch.no_grad():
    y_train = 4 * teacher(x_train)


def build_model():
    return nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 4))


def build_optim(model):
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-2)

    def lr_lambda(step):
        if step < WARMUP:
            return (step + 1) / WARMUP
        t = (step - WARMUP) / max(1, TOTAL - WARMUP)
        return 0.5 * (1 + math.cos(math.pi * min(1.0, t)))

    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda)


def save_ckpt(path, model, optimizer, scheduler, step):
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                "scheduler": scheduler.state_dict(), "step": step}, path)


def load_ckpt(path, model, optimizer=None, scheduler=None):
    ckpt = torch.load(path)
    model.load_state_dict(ckpt["model"])
    if optimizer is not None:
        optimizer.load_state_dict(ckpt["optimizer"])
    if scheduler is not None:
        scheduler.load_state_dict(ckpt["scheduler"])
    return ckpt["step"]


def run(model, optimizer, scheduler, start, stop):
    for step in range(start, stop):
        idx = torch.randint(0, len(x_train), (64,))
        loss = F.mse_loss(model(x_train[idx]), y_train[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if (step + 1) % 100 == 0:
            with torch.no_grad():
                full = F.mse_loss(model(x_train), y_train).item()
            print(f"step {step + 1:5d}  lr {scheduler.get_last_lr()[0]:.5f}  loss {full:.5f}")


path = os.path.join(tempfile.mkdtemp(), "last.pt")
model = build_model()
optimizer, scheduler = build_optim(model)
run(model, optimizer, scheduler, 0, STOP)
save_ckpt(path, model, optimizer, scheduler, STOP)

print("resume")
model = build_model()
optimizer, scheduler = build_optim(model)
start = load_ckpt(path, model)
run(model, optimizer, scheduler, start, TOTAL)
with torch.no_grad():
    print("final loss %.5f" % F.mse_loss(model(x_train), y_train).item())
