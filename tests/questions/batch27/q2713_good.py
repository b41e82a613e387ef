import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(1)


class ModelEMA:
    def __init__(self, model, decay=0.9999, warmups=2000):
        self.module = copy.deepcopy(model).eval()
        self.decay = decay
        self.updates = 0
        if warmups == 0:
            self.decay_fn = lambda x: self.decay
        else:
            self.decay_fn = lambda x: self.decay * (1 - math.exp(-x / warmups))
        for p in self.module.parameters():
            p.requires_grad_(False)

    def update(self, model):
        with torch.no_grad():
            self.updates += 1
            d = self.decay_fn(self.updates)
            msd = model.state_dict()
            for k, v in self.module.state_dict().items():
                if v.dtype.is_floating_point:
                    v *= d
                    v += (1 - d) * msd[k].detach()


def data(n, mix):
    x = torch.randn(n, 12)
    return x, (x @ mix).argmax(1)


mix = torch.randn(12, 5)
train_x, train_y = data(1600, mix)
val_x, val_y = data(800, mix)
model = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
ema = ModelEMA(model, decay=0.999, warmups=40)


def train_one_epoch(x, y):
    model.train()
    total = 0.0
    order = torch.randperm(len(x))
    for i in range(0, len(x), 64):
        idx = order[i:i + 64]
        loss = F.cross_entropy(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update(model)
        total += loss.item() * len(idx)
    return total / len(x)


def accuracy(net):
    net.eval()
    with torch.no_grad():
        return (net(val_x).argmax(1) == val_y).float().mean().item()


best, best_state = -1.0, None
for epoch in range(12):
    if epoch == 8:
        model.load_state_dict(best_state["model"])
        ema.module.load_state_dict(best_state["ema"])
        ema.decay -= 0.1
        for g in optimizer.param_groups:
            g["lr"] = 0.01
        print(f"Refresh EMA at epoch {epoch} with decay {ema.decay:.4f}")
    loss = train_one_epoch(train_x, train_y)
    acc, acc_ema = accuracy(model), accuracy(ema.module)
    if acc > best:
        best = acc
        best_state = copy.deepcopy({"model": model.state_dict(), "ema": ema.module.state_dict()})
    gap = sum((a - b).pow(2).sum() for a, b in zip(model.parameters(), ema.module.parameters())).sqrt().item()
    print(f"epoch {epoch} loss {loss:.4f} acc {acc:.3f} ema acc {acc_ema:.3f} distance {gap:.4f}")
