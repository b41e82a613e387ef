"""Training with a weight-averaging (SWAG like) optimizer around a base optimizer, resumed from a checkpoint."""

import io

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SwagOptimizer(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, update_interval=10):
        super().__init__(params, dict(update_interval=update_interval))
        self.state["__base_optimizer"] = base_optimizer
        self.state["__steps"] = 0
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["mean"] = torch.zeros_like(p)
                self.state[p]["n"] = 0

    @torch.no_grad()
    def step(self, closure=None):
        self.state["__base_optimizer"].step()
        self.state["__steps"] += 1
        for group in self.param_groups:
            if self.state["__steps"] % group["update_interval"] == 0:
                for p in group["params"]:
                    state = self.state[p]
                    state["mean"] = (state["mean"] * state["n"] + p) / (state["n"] + 1)
                    state["n"] += 1


def build():
    model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 4))
    base = torch.optim.Adam(model.parameters(), lr=1e-3)
    return model, base, SwagOptimizer(model.parameters(), base)


def train(model, optimizer, epochs, start=0):
    for epoch in range(start, start + epochs):
        total = 0.0
        for i in range(0, 640, 64):
            loss = F.cross_entropy(model(x[i : i + 64]), y[i : i + 64])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / 10:.4f}")


x = torch.randn(640, 10)
y = (x[:, :4] + 0.5 * x[:, 4:8] ** 2).argmax(1)

model, base_optimizer, optimizer = build()
train(model, optimizer, 5)
checkpoint = io.BytesIO()
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, checkpoint)

checkpoint.seek(0)
ckpt = torch.load(checkpoint, weights_only=False)
model, base_optimizer, optimizer = build()
model.load_state_dict(ckpt["model"])
optimizer.load_state_dict(ckpt["optimizer"])
print("resumed")
train(model, optimizer, 10, start=5)
