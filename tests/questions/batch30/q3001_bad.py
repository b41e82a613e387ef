import os
import random
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
random.seed(3)
torch.manual_seed(3)

VOCAB, LEN, DIM = 30, 12, 32


def make_batch(n):
    ctx = torch.stack([torch.randperm(VOCAB)[:LEN] for _ in range(n)])
    pos = torch.randint(0, LEN, (n,))
    q = ctx[torch.arange(n), pos]
    return ctx, q, pos


class EMA:
    def __init__(self, decay):
        self.decay = decay
        self.shadow = {}
        self.original = {}

    def register(self, name, val):
        self.shadow[name] = val.clone()

    def __call__(self, model):
        for name, p in model.named_parameters():
            if p.requires_grad:
                self.shadow[name] = (1 - self.decay) * p.data + self.decay * self.shadow[name]

    def assign(self, model):
        for name, p in model.named_parameters():
            if p.requires_grad:
                self.original[name] = p.data.clone()
                p.data = self.shadow[name]

    def resume(self, model):
        for name, p in model.named_parameters():
            if p.requires_grad:
                p.data = self.original[name]


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, DIM)
        self.enc = nn.GRU(DIM, DIM, batch_first=True, bidirectional=True)
        self.q_proj = nn.Linear(DIM, 2 * DIM)

    def forward(self, ctx, q):
        h, _ = self.enc(self.emb(ctx))
        qv = self.q_proj(self.emb(q))
        return torch.einsum("bld,bd->bl", h, qv)


class Trainer:
    def __init__(self, model, optimizer, ema):
        self.model = model
        self.optimizer = optimizer
        self.ema = ema
        self.start_epoch = 1

    def resume_checkpoint(self, path):
        ckpt = torch.load(path)
        self.start_epoch = ckpt["epoch"] + 1
        self.model.load_state_dict(ckpt["state_dict"])
        self.optimizer.load_state_dict(ckpt["optimizer"])
        print("checkpoint of epoch", ckpt["epoch"], "loaded")

    def save_checkpoint(self, path, epoch):
        torch.save({"epoch": epoch, "state_dict": self.model.state_dict(),
                    "optimizer": self.optimizer.state_dict()}, path)

    def train_epoch(self, epoch, steps):
        self.model.train()
        total = 0.0
        for _ in range(steps):
            ctx, q, pos = make_batch(64)
            self.optimizer.zero_grad()
            loss = F.cross_entropy(self.model(ctx, q), pos)
            loss.backward()
            self.optimizer.step()
            self.ema(self.model)
            total += loss.item()
        em = self.evaluate()
        print(f"epoch {epoch}: train loss {total / steps:.3f}  test EM {em:.3f}")

    def evaluate(self):
        self.ema.assign(self.model)
        self.model.eval()
        with torch.no_grad():
            ctx, q, pos = make_batch(500)
            em = (self.model(ctx, q).argmax(1) == pos).float().mean().item()
        self.ema.resume(self.model)
        return em


def main(epochs, steps, resume=None, save=None):
    model = Reader()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    ema = EMA(0.995)
    for name, p in model.named_parameters():
        if p.requires_grad:
            ema.register(name, p.data)
    trainer = Trainer(model, optimizer, ema)
    if resume:
        trainer.resume_checkpoint(resume)
    for epoch in range(trainer.start_epoch, trainer.start_epoch + epochs):
        trainer.train_epoch(epoch, steps)
        if save:
            trainer.save_checkpoint(save, epoch)


path = os.path.join(tempfile.mkdtemp(), "qa.pth")
main(4, 100, save=path)
main(1, 60, resume=path)
