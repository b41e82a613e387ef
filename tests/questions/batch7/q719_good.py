import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Optim:
    def __init__(self, method="adam", lr=0.02):
        self.method = method
        self.lr = lr
        self.optimizer = None

    def set_parameters(self, params):
        self.params = [p for _, p in params if p.requires_grad]
        if self.method == "adam":
            self.optimizer = torch.optim.Adam(self.params, lr=self.lr, betas=(0.9, 0.999), eps=1e-9)
        else:
            self.optimizer = torch.optim.SGD(self.params, lr=self.lr)

    def load(self, saved):
        if self.optimizer is None:
            self.optimizer = saved["optimizer"]
        self.optimizer.load_state_dict(saved["state"])

    def step(self):
        nn.utils.clip_grad_norm_(self.params, 5.0)
        self.optimizer.step()


def build_model(checkpoint=None):
    model = nn.Sequential(nn.Linear(10, 64), nn.Tanh(), nn.Linear(64, 1))
    if checkpoint is not None:
        model.load_state_dict(checkpoint["model"])
    return model


def build_optim(model, checkpoint=None):
    optim = Optim()
    optim.set_parameters(model.named_parameters())
    if checkpoint is not None:
        optim.load(checkpoint["optim"])
    return optim


def train(model, optim, data, steps):
    x, y = data
    for step in range(1, steps + 1):
        index = torch.randint(0, len(x), (64,))
        loss = F.mse_loss(model(x[index]), y[index])
        optim.optimizer.zero_grad()
        loss.backward()
        optim.step()
        if step <= 3 or step % 200 == 0:
            with torch.no_grad():
                print(f"  step {step}: loss {F.mse_loss(model(x), y).item():.5f}")


def main():
    x = torch.randn(800, 10)
    y = torch.sin(x[:, :1]) + 0.5 * x[:, 1:2] * x[:, 2:3]
    model = build_model()
    optim = build_optim(model)
    train(model, optim, (x, y), 600)
    state = {"optimizer": optim.optimizer, "state": optim.optimizer.state_dict()}
    checkpoint = {"model": copy.deepcopy(model.state_dict()), "optim": copy.deepcopy(state)}
    print("resumed")
    model = build_model(checkpoint)
    train(model, build_optim(model, checkpoint), (x, y), 10)


if __name__ == "__main__":
    main()
