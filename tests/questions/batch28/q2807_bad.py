import copy
import io
import math
import torch
import torch.nn as nn

torch.manual_seed(0)
torch.set_num_threads(1)


class ModelEMA(nn.Module):
    def __init__(self, model, decay=0.98, warmup_steps=60):
        super().__init__()
        self.model = copy.deepcopy(model).eval()
        for p in self.model.parameters():
            p.requires_grad_(False)
        self.decay = decay
        self.warmup_steps = warmup_steps
        self.updates = 0

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        d = self.decay * (1 - math.exp(-self.updates / self.warmup_steps))
        for e, p in zip(self.model.state_dict().values(), model.state_dict().values()):
            if e.dtype.is_floating_point:
                e.mul_(d).add_(p, alpha=1 - d)


def make_data(n):
    x = torch.randn(n, 8)
    y = torch.tanh(x[:, :1] + 0.5 * x[:, 1:2])
    return x, y


train_x, train_y = make_data(2048)
train_y = train_y + 1.0 * torch.randn_like(train_y)
val_x, val_y = make_data(256)


def build():
    model = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    return model, optimizer, ModelEMA(model)


def train_epochs(model, optimizer, ema, first, last):
    criterion = nn.MSELoss()
    for epoch in range(first, last):
        model.train()
        perm = torch.randperm(2048)
        for i in range(0, 2048, 64):
            idx = perm[i:i + 16]
            loss = criterion(model(train_x[idx]), train_y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            ema.update(model)
        with torch.no_grad():
            val = criterion(ema.model(val_x), val_y).item()
        print(f"epoch {epoch + 1}: loss {loss.item():.4f} ema val {val:.4f}")


model, optimizer, ema = build()
train_epochs(model, optimizer, ema, 0, 12)
buffer = io.BytesIO()
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "ema": ema.state_dict()}, buffer)

print("resume")
buffer.seek(0)
ckpt = torch.load(buffer)
model, optimizer, ema = build()
model.load_state_dict(ckpt["model"])
optimizer.load_state_dict(ckpt["optimizer"])
ema.load_state_dict(ckpt["ema"])
train_epochs(model, optimizer, ema, 12, 16)
