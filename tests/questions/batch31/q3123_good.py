import os
import tempfile

import torch
import torch.nn as nn

torch.set_num_threads(1)
torch.manual_seed(0)
X = torch.randn(640, 16)
Y = X @ torch.randn(16, 1) * 30 + 5 * torch.randn(640, 1)
MAX_STEPS = 40


class Trainer:
    def __init__(self):
        torch.manual_seed(1)
        self.model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.02)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda s: 1 - s / MAX_STEPS)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=65536.0)
        self.step = 0

    def save(self, path):
        torch.save({
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "scaler": self.scaler.state_dict(),
            "step": self.step,
        }, path)

    def resume_from_checkpoint(self, path):
        ckpt = torch.load(path)
        self.model.load_state_dict(ckpt["model"])
        self.optimizer.load_state_dict(ckpt["optimizer"])
        self.scheduler.load_state_dict(ckpt["scheduler"])
        self.scaler.load_state_dict(ckpt["scaler"])
        self.step = ckpt["step"]

    def train(self, until):
        while self.step < until:
            g = torch.Generator().manual_seed(self.step)
            idx = torch.randint(len(X), (64,), generator=g)
            with torch.autocast("cpu", dtype=torch.float16):
                pred = self.model(X[idx])
            loss = nn.functional.mse_loss(pred.float(), Y[idx])
            self.optimizer.zero_grad()
            self.scaler.scale(loss).backward()
            before = self.scaler.get_scale()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            if self.scaler.get_scale() >= before:
                self.scheduler.step()
            self.step += 1
            if self.step % 4 == 0:
                print(f"step {self.step:2d}  loss {loss.item():9.2f}  lr {self.scheduler.get_last_lr()[0]:.5f}"
                      f"  scale {self.scaler.get_scale():.0f}")


path = os.path.join(tempfile.mkdtemp(), "checkpoint-20.pt")
trainer = Trainer()
trainer.train(20)
trainer.save(path)
print("interrupted, resume from checkpoint")
trainer = Trainer()
trainer.resume_from_checkpoint(path)
trainer.train(MAX_STEPS)
with torch.no_grad():
    print(f"final mse {nn.functional.mse_loss(trainer.model(X), Y).item():.2f}")
