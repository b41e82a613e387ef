import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Denoise(nn.Module):
    def __init__(self, dim=16, width=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim + 1, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, dim))

    def forward(self, x, t):
        return self.net(torch.cat([x, t], dim=1))


class EveryOptimizer:
    def __init__(self, params, lr, clip_grad_norm, amp=True):
        self.params = list(params)
        self.clip_grad_norm = clip_grad_norm
        self.optimizer = torch.optim.SGD(self.params, lr=lr, momentum=0.9)
        self.scaler = torch.amp.GradScaler("cpu", enabled=amp, init_scale=2 ** 17.0)

    def step(self, loss):
        self.scaler.scale(loss).backward()
        if self.clip_grad_norm is not None:
            torch.nn.utils.clip_grad_norm_(parameters=self.params, max_norm=self.clip_grad_norm)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)


def train(data, amp, epochs=6):
    torch.manual_seed(1)
    model = Denoise()
    optim = EveryOptimizer(model.parameters(), lr=0.05, clip_grad_norm=1.0, amp=amp)
    loader = DataLoader(data, batch_size=32, shuffle=True)
    for epoch in range(epochs):
        total = 0.0
        for (x,) in loader:
            t = torch.rand(len(x), 1)
            noise = torch.randn_like(x)
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=amp):
                pred = model((1 - t) * x + t * noise, t)
                loss = nn.functional.mse_loss(pred.float(), noise - x)
            optim.step(loss)
            total += loss.item()
        print(f"amp {amp} epoch {epoch} loss {total / len(loader):.4f}")


torch.manual_seed(0)
latents = 2.0 * torch.randn(4000, 3) @ torch.randn(3, 16)
latents = latents / latents.std()
data = TensorDataset(latents)
train(data, amp=False)
train(data, amp=True)
