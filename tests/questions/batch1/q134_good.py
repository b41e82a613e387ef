import torch
import torch.nn as nn
import torch.nn.functional as F


class UNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.down = nn.Conv2d(1, width, 3, padding=1)
        self.mid = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.up = nn.Conv2d(3 * width, width, 3, padding=1)
        self.out = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        a = F.relu(self.down(x))
        b = F.interpolate(F.relu(self.mid(F.max_pool2d(a, 2))), scale_factor=2)
        return self.out(F.relu(self.up(torch.cat([a, b], 1)))).squeeze(1)


def masks(n):
    image = torch.randn(n, 1, 16, 16)
    return image, (F.avg_pool2d(image, 3, stride=1, padding=1).squeeze(1) > 0.1).float()


def train_model(model, steps, learning_rate, amp, gradient_clipping=1.0):
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate, momentum=0.9)
    grad_scaler = torch.amp.GradScaler("cpu", enabled=amp)
    criterion = nn.BCEWithLogitsLoss()
    for step in range(steps):
        image, true_mask = masks(16)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=amp):
            loss = criterion(model(image), true_mask)
        optimizer.zero_grad(set_to_none=True)
        grad_scaler.scale(loss).backward()
        grad_scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), gradient_clipping)
        grad_scaler.step(optimizer)
        grad_scaler.update()
        if step % 16 == 0:
            print(f"step {step} loss {loss.item():.4f}")


torch.manual_seed(0)
train_model(UNet(), steps=80, learning_rate=0.1, amp=True)
