import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)

ALLOWED_GRADNORM = 2.0
GRAD_CLIP = 1.0


class ViewDecoder(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.tokens = nn.Linear(12, dim)
        self.block = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.rgb = nn.Linear(dim, 3)

    def forward(self, rays):
        return torch.sigmoid(self.rgb(self.block(self.tokens(rays))))


def get_batch(step):
    rays = torch.randn(8, 16, 12)
    target = torch.sigmoid(rays[..., :3] + rays[..., 3:6] * rays[..., 6:9])
    if step % 20 == 9:
        target = target * 30
    return rays, target


def main():
    model = ViewDecoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    skipped = 0
    for step in range(100):
        rays, target = get_batch(step)
        pred = model(rays)
        loss = 20 * F.mse_loss(pred, target)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        total_grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), GRAD_CLIP).item()
        skip_optimizer_step = total_grad_norm > ALLOWED_GRADNORM * GRAD_CLIP * 5
        if skip_optimizer_step:
            skipped += 1
            print(f"step {step}: grad norm too large {total_grad_norm:.2f}, skipping optimizer step")
        else:
            scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        if step % 20 == 19:
            print(f"step {step}: loss {loss.item():.4f}, skipped {skipped}")


main()
