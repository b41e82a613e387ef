import torch
import torch.nn.functional as F
from torch import nn
from torch.amp import GradScaler, autocast

torch.manual_seed(0)
variables, lat, lon = 2, 12, 24


class SurfaceModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Conv2d(variables, 24, 3)
        self.mix = nn.Conv2d(24, 24, 3)
        self.decode = nn.Conv2d(24, variables, 1)

    def forward(self, x):
        z = F.gelu(self.encode(F.pad(F.pad(x, (1, 1, 0, 0), mode="circular"), (0, 0, 1, 1))))
        z = F.gelu(self.mix(F.pad(F.pad(z, (1, 1, 0, 0), mode="circular"), (0, 0, 1, 1))))
        return x + self.decode(z)


def load_batch(n=16):
    phase, height = torch.rand(n, variables, 1, 1) * 6.28, torch.rand(n, variables, 1, 1) * 6.28
    x = torch.arange(lon).view(1, 1, 1, -1) * 2 * torch.pi / lon
    y = torch.arange(lat).view(1, 1, -1, 1) * torch.pi / lat
    now = torch.sin(2 * x + phase) * torch.cos(y + height)
    following = torch.sin(2 * x + phase - 0.8) * torch.cos(y + height)
    return now, following


class Trainer:
    def __init__(self, model, grad_max_norm=1.0):
        self.model = model
        self.grad_max_norm = grad_max_norm
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        self.scaler = GradScaler("cpu", init_scale=2.0**16)

    def train_one_epoch(self, batches_per_epoch=40):
        total = 0.0
        for _ in range(batches_per_epoch):
            x, y = load_batch()
            with autocast("cpu", dtype=torch.bfloat16):
                y_pred = self.model(x)
            loss = F.mse_loss(y_pred.float(), y)
            self.scaler.scale(loss).backward()
            self.scaler.unscale_(self.optimizer)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), max_norm=self.grad_max_norm)
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad()
            total += loss.item()
        return total / batches_per_epoch


trainer = Trainer(SurfaceModel())
for epoch in range(5):
    train_loss = trainer.train_one_epoch()
    print(f"epoch {epoch}: train_loss {train_loss:.5f}  loss scale {trainer.scaler.get_scale():.0f}")
with torch.no_grad():
    x, y = load_batch(64)
    rmse = F.mse_loss(trainer.model(x), y).sqrt().item()
    persistence = F.mse_loss(x, y).sqrt().item()
print(f"RMSE of the forecast {rmse:.4f}  RMSE of persistence {persistence:.4f}")
