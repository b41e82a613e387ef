import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)

GRAD_ACCUM, MICRO = 8, 8


class LatentDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 8))

    def forward(self, z):
        return self.net(z)


def micro_batches(teacher, count):
    for _ in range(count):
        z = torch.randn(MICRO, 16)
        yield z, torch.tanh(z @ teacher) + 0.8 * torch.randn(MICRO, 8)


def validate(model, z, clean):
    with torch.no_grad():
        return F.mse_loss(model(z), clean).item()


def main():
    teacher = torch.randn(16, 8) / 4
    val_z = torch.randn(2000, 16)
    val_x = torch.tanh(val_z @ teacher)
    model = LatentDecoder()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    global_step = 0
    running = 0.0
    for i, (z, x) in enumerate(micro_batches(teacher, 300 * GRAD_ACCUM)):
        loss = F.mse_loss(model(z), x)
        (loss / GRAD_ACCUM).backward()
        running += loss.item()
        if (i + 1) % GRAD_ACCUM == 0:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            global_step += 1
            if global_step % 60 == 0:
                val = validate(model, val_z, val_x)
                print(f"step {global_step}: train {running / (60 * GRAD_ACCUM):.4f} val {val:.4f}")
                running = 0.0


if __name__ == "__main__":
    main()
