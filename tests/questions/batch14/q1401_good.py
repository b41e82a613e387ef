import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class MomentumUpdater:
    def __init__(self, base_tau=0.9, final_tau=1.0):
        self.base_tau = base_tau
        self.cur_tau = base_tau
        self.final_tau = final_tau

    @torch.no_grad()
    def update(self, online, target):
        for op, mp in zip(online.parameters(), target.parameters()):
            mp.data.mul_(self.cur_tau).add_(op.data, alpha=1 - self.cur_tau)

    def update_tau(self, cur_step, max_steps):
        share = (math.cos(math.pi * cur_step / max_steps) + 1) / 2
        self.cur_tau = self.final_tau - (self.final_tau - self.base_tau) * share


def mlp(inp, hidden, out):
    return nn.Sequential(nn.Linear(inp, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Linear(hidden, out))


class BYOL(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.encoder = nn.Sequential(mlp(width, 64, 32), mlp(32, 64, 16))
        self.predictor = mlp(16, 64, 16)
        self.momentum_encoder = copy.deepcopy(self.encoder)
        for p in self.momentum_encoder.parameters():
            p.requires_grad = False

    def forward(self, x1, x2):
        p1, p2 = self.predictor(self.encoder(x1)), self.predictor(self.encoder(x2))
        with torch.no_grad():
            z1, z2 = self.momentum_encoder(x1), self.momentum_encoder(x2)
        return 4 - 2 * (F.cosine_similarity(p1, z2).mean() + F.cosine_similarity(p2, z1).mean())


def make_data(n, classes=6, width=24):
    labels = torch.randint(classes, (n,))
    return torch.randn(classes, width)[labels] + 0.4 * torch.randn(n, width), labels


def augment(x):
    return x * (torch.rand_like(x) > 0.2) + 0.3 * torch.randn_like(x)


def main():
    torch.manual_seed(0)
    x, _ = make_data(1024)
    model = BYOL(24)
    updater = MomentumUpdater()
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=2e-3)
    max_epochs, batch = 8, 64
    num_training_steps = len(x) // batch
    global_step = 0
    for epoch in range(max_epochs):
        taus, total = [], 0.0
        for rows in torch.randperm(len(x)).split(batch):
            loss = model(augment(x[rows]), augment(x[rows]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            global_step += 1
            updater.update(model.encoder, model.momentum_encoder)
            taus.append(updater.cur_tau)
            updater.update_tau(cur_step=global_step, max_steps=max_epochs * num_training_steps)
            total += loss.item()
        print(
            f"epoch {epoch}: loss {total / num_training_steps:.3f}  "
            f"tau first {taus[0]:.4f}  middle {taus[len(taus) // 2]:.4f}  last {taus[-1]:.4f}"
        )


if __name__ == "__main__":
    main()
