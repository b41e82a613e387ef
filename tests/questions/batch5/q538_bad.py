import copy

import torch
from torch import nn

torch.manual_seed(0)


class EMA:
    def __init__(self, model, decay=0.98):
        self.decay = decay
        self.shadow = {name: p.detach().clone() for name, p in model.named_parameters()}

    @torch.no_grad()
    def update(self, model):
        for name, p in model.named_parameters():
            if name in self.shadow:
                self.shadow[name].lerp_(p, 1 - self.decay)

    def averaged(self, model):
        twin = copy.deepcopy(model)
        twin.load_state_dict(self.shadow)
        return twin


class Surrogate(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x)


def field(x):
    return torch.sin(2 * x[:, :1]) * x[:, 1:2] + x[:, 2:3] ** 2


model = Surrogate()
ema = EMA(model)
compiled_model = torch.compile(model, backend="eager")
optimizer = torch.optim.Adam(compiled_model.parameters(), lr=2e-3)
val_x = torch.randn(500, 3)
for epoch in range(1, 7):
    for _ in range(100):
        x = torch.randn(128, 3)
        loss = nn.functional.mse_loss(compiled_model(x), field(x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update(compiled_model)
    with torch.no_grad():
        val = nn.functional.mse_loss(ema.averaged(model)(val_x), field(val_x)).item()
    print(f"epoch {epoch}: train {loss.item():.4f}, val of the average {val:.4f}")
