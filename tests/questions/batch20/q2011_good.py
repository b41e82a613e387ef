import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(14)
VOCAB, CTX, DIM = 32, 16, 48


class WarmupCosine:
    def __init__(self, optimizer, max_epoch, iters_per_epoch, min_lr, init_lr, warmup_steps, warmup_start_lr):
        self.optimizer = optimizer
        self.total_steps = max_epoch * iters_per_epoch
        self.iters_per_epoch = iters_per_epoch
        self.min_lr, self.init_lr = min_lr, init_lr
        self.warmup_steps, self.warmup_start_lr = warmup_steps, warmup_start_lr

    def step(self, cur_epoch, cur_step):
        total_cur_step = cur_epoch * self.iters_per_epoch + cur_step
        if total_cur_step < self.warmup_steps:
            done = total_cur_step / self.warmup_steps
            lr = self.warmup_start_lr + (self.init_lr - self.warmup_start_lr) * done
        else:
            done = total_cur_step / self.total_steps
            lr = self.min_lr + (self.init_lr - self.min_lr) * 0.5 * (1.0 + math.cos(math.pi * done))
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        return lr


table = torch.randint(0, VOCAB, (VOCAB, VOCAB))


def captions(n):
    seq = torch.randint(0, VOCAB, (n, CTX + 1))
    for t in range(2, CTX + 1):
        keep = torch.rand(n) < 0.9
        seq[:, t] = torch.where(keep, table[seq[:, t - 1], seq[:, t - 2]], seq[:, t])
    return seq


class Captioner(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, DIM)
        self.rnn = nn.GRU(DIM, 96, batch_first=True)
        self.mlp = nn.Sequential(nn.LayerNorm(96), nn.Linear(96, 192), nn.GELU(), nn.Linear(192, VOCAB))

    def forward(self, tokens):
        return self.mlp(self.rnn(self.emb(tokens))[0])


def loss_of(model, seq):
    return F.cross_entropy(model(seq[:, :-1]).flatten(0, 1), seq[:, 1:].flatten())


model = Captioner()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
EPOCHS, ITERS = 20, 50
schedule = WarmupCosine(optimizer, EPOCHS, ITERS, 1e-5, 3e-3, warmup_steps=700, warmup_start_lr=1e-6)
train, val = captions(3200), captions(512)

for epoch in range(EPOCHS):
    model.train()
    order = torch.randperm(len(train)).view(ITERS, -1)
    for step in range(ITERS):
        lr = schedule.step(cur_epoch=epoch, cur_step=step)
        loss = loss_of(model, train[order[step]])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        val_loss = loss_of(model, val).item()
    if epoch % 4 == 3 or epoch == 12:
        print(f"epoch {epoch:2d} lr {lr:.2e} train {loss.item():.3f} val {val_loss:.3f}")
print(f"final val loss {val_loss:.3f}")
