import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)

num_epochs = 12
gradient_accumulation_steps = 4
lr_warmup_steps = 10
train_batch_size = 16


def get_linear_schedule(optimizer, num_warmup_steps, num_training_steps):
    def lr_lambda(step):
        if step < num_warmup_steps:
            return step / max(1, num_warmup_steps)
        return max(0.0, (num_training_steps - step) / max(1, num_training_steps - num_warmup_steps))

    return LambdaLR(optimizer, lr_lambda)


class NoiseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 2))

    def forward(self, x, t):
        return self.net(torch.cat([x, torch.sin(t * 3)[:, None], torch.cos(t * 3)[:, None]], dim=1))


angle = torch.rand(1024) * 2 * math.pi
data = torch.stack([angle.cos(), angle.sin()], dim=1) + 0.05 * torch.randn(1024, 2)
train_dataloader = DataLoader(TensorDataset(data), batch_size=train_batch_size, shuffle=True)

model = NoiseNet()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
lr_scheduler = get_linear_schedule(
    optimizer,
    num_warmup_steps=lr_warmup_steps * gradient_accumulation_steps,
    num_training_steps=len(train_dataloader) * num_epochs,
)

global_step = 0
for epoch in range(num_epochs):
    total = 0.0
    for step, (clean,) in enumerate(train_dataloader):
        noise = torch.randn_like(clean)
        t = torch.rand(len(clean))
        alpha = torch.cos(t * math.pi / 2)[:, None]
        sigma = torch.sin(t * math.pi / 2)[:, None]
        loss = F.mse_loss(model(alpha * clean + sigma * noise, t), noise)
        (loss / gradient_accumulation_steps).backward()
        if (step + 1) % gradient_accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
            global_step += 1
        lr_scheduler.step()
        total += loss.item()
    print(f"epoch {epoch + 1}: global_step {global_step} loss {total / len(train_dataloader):.4f} "
          f"lr {lr_scheduler.get_last_lr()[0]:.6f}")
