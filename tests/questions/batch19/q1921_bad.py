import io
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(17)

DIM, EPOCHS, BATCH, WARMUP = 20, 10, 32, 150
teacher = nn.Sequential(nn.Linear(DIM, 48), nn.Tanh(), nn.Linear(48, 5))
for p in teacher.parameters():
    p.requires_grad_(False)
teacher[0].weight.mul_(2.0)
inputs = torch.randn(6400, DIM)
targets = teacher(inputs) + 0.1 * torch.randn(6400, 5)
val_x = torch.randn(3000, DIM)
val_y = teacher(val_x)
STEPS_PER_EPOCH = len(inputs) // BATCH
TOTAL = EPOCHS * STEPS_PER_EPOCH


def cosine_with_warmup(step):
    if step < WARMUP:
        return step / WARMUP
    progress = (step - WARMUP) / max(1, TOTAL - WARMUP)
    return max(0.0, 0.5 * (1 + math.cos(math.pi * progress)))


class Run:
    def __init__(self, checkpoint=None):
        torch.manual_seed(4)
        self.model = nn.Sequential(nn.Linear(DIM, 96), nn.GELU(), nn.Linear(96, 96), nn.GELU(), nn.Linear(96, 5))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=4e-3, weight_decay=0.01)
        self.epoch, self.global_step = 0, 0
        last = -1
        if checkpoint is not None:
            state = torch.load(io.BytesIO(checkpoint))
            self.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.epoch = state["epoch"] + 1
            self.global_step = state["global_step"]
            last = state["epoch"]
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, cosine_with_warmup, last_epoch=last)

    def save(self, epoch):
        buf = io.BytesIO()
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
                    "epoch": epoch, "global_step": self.global_step}, buf)
        return buf.getvalue()

    def fit(self, until):
        blob = None
        for epoch in range(self.epoch, until):
            order = torch.randperm(len(inputs), generator=torch.Generator().manual_seed(epoch))
            total = 0.0
            for idx in order.split(BATCH):
                loss = F.mse_loss(self.model(inputs[idx]), targets[idx])
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.scheduler.step()
                self.global_step += 1
                total += loss.item()
            lr = self.scheduler.get_last_lr()[0]
            print(f"epoch {epoch}  loss {total / STEPS_PER_EPOCH:.4f}  lr {lr:.2e}")
            blob = self.save(epoch)
        return blob

    @torch.no_grad()
    def validate(self):
        return F.mse_loss(self.model(val_x), val_y).item()


first = Run()
blob = first.fit(6)
print(f"validation mse at the checkpoint {first.validate():.4f}")
resumed = Run(checkpoint=blob)
print(f"lr after loading {resumed.scheduler.get_last_lr()[0]:.2e}")
resumed.fit(EPOCHS)
print(f"validation mse at the end {resumed.validate():.4f}")
