import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import spectral_norm

torch.manual_seed(13)

DIM, WIDTH, DEPTH = 12, 64, 8


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = spectral_norm(nn.Linear(DIM, WIDTH))
        self.layers = nn.ModuleList(spectral_norm(nn.Linear(WIDTH, WIDTH)) for _ in range(DEPTH))
        self.out = spectral_norm(nn.Linear(WIDTH, 3))
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        h = F.silu(self.inp(x))
        for layer in self.layers:
            h = h + F.silu(layer(h))
        return self.out(h) * self.scale


class EMATracker:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = {k: v.detach().clone() for k, v in model.state_dict().items()}

    @torch.no_grad()
    def update(self, model):
        for key, value in model.state_dict().items():
            if value.dtype.is_floating_point:
                self.shadow[key].mul_(self.decay).add_(value, alpha=1 - self.decay)
            else:
                self.shadow[key].copy_(value)


def truth(x):
    return torch.stack([torch.sin(x[:, 0] + x[:, 1]), x[:, 2] * x[:, 3], torch.tanh(x[:, 4] - x[:, 5])], dim=1)


model = Forecaster()
averaged = Forecaster()
ema = EMATracker(model, decay=0.99)
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
val_x = torch.randn(2000, DIM)
val_y = truth(val_x)


@torch.no_grad()
def validate(net):
    net.eval()
    pred = net(val_x)
    net.train()
    return F.mse_loss(pred, val_y).item(), pred.abs().max().item()


for step in range(1, 1201):
    x = torch.randn(64, DIM)
    loss = F.mse_loss(model(x), truth(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.update(model)
    if step % 300 == 0:
        averaged.load_state_dict(ema.shadow)
        live, avg = validate(model), validate(averaged)
        print(f"step {step:4d}  train loss {loss.item():.4f}  valid {live[0]:.4f}  valid with ema {avg[0]:.4g}  "
              f"largest |prediction| {live[1]:.2f} / {avg[1]:.3g}")
print(f"target range {val_y.abs().max().item():.2f}")
