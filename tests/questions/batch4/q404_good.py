import io

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)

TOTAL_STEPS = 900


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(16, 128), nn.GELU(), nn.Linear(128, 128), nn.GELU(), nn.Linear(128, 1)
        )

    def forward(self, x):
        return self.net(x)


def get_batch():
    x = torch.randn(32, 16)
    y = torch.sin(x[:, :1] * 2) + 0.5 * x[:, 1:2] * x[:, 2:3] + 0.3 * torch.randn(32, 1)
    return x, y


def build():
    model = Backbone()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=1e-2)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: 1.0 - 0.5 * s / TOTAL_STEPS)
    return model, optimizer, scheduler


def save_checkpoint(model, scheduler, optimizer, step):
    buffer = io.BytesIO()
    state = {"model": model.state_dict(), "scheduler": scheduler.state_dict(), "step": step}
    state["optimizer"] = optimizer.state_dict()
    torch.save(state, buffer)
    buffer.seek(0)
    return buffer


def load_checkpoint(buffer, model, scheduler, optimizer):
    state = torch.load(buffer)
    model.load_state_dict(state["model"])
    scheduler.load_state_dict(state["scheduler"])
    optimizer.load_state_dict(state["optimizer"])
    return state["step"]


def train(model, optimizer, scheduler, start, stop):
    window = []
    for step in range(start, stop):
        x, y = get_batch()
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        window.append(loss.item())
        if (step + 1) % 20 == 0 and (step < 100 or step >= stop - 60 or step < start + 100):
            print(f"step {step + 1}: loss {sum(window) / len(window):.4f}")
        if (step + 1) % 20 == 0:
            window = []


model, optimizer, scheduler = build()
train(model, optimizer, scheduler, 0, 600)
checkpoint = save_checkpoint(model, scheduler, optimizer, 600)

print("resuming")
model, optimizer, scheduler = build()
start = load_checkpoint(checkpoint, model, scheduler, optimizer)
train(model, optimizer, scheduler, start, TOTAL_STEPS)
