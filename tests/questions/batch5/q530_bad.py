import torch
from torch import nn

torch.manual_seed(0)


class ExponentialMovingAverage:
    def __init__(self, parameters, decay):
        self.decay = decay
        self.parameters = list(parameters)
        self.shadow_params = [p.detach().clone() for p in self.parameters]
        self.collected = []

    @torch.no_grad()
    def update(self):
        one_minus_decay = 1.0 - self.decay
        for shadow, param in zip(self.shadow_params, self.parameters, strict=True):
            gap = shadow - param
            shadow.add_(gap * one_minus_decay)

    @torch.no_grad()
    def swap(self):
        for shadow, param in zip(self.shadow_params, self.parameters, strict=True):
            kept = param.clone()
            param.copy_(shadow)
            shadow.copy_(kept)


def evaluate(model, x, y):
    with torch.no_grad():
        return nn.functional.mse_loss(model(x), y).item()


x = torch.rand(512, 4) * 2 - 1
y = torch.sin(3 * x[:, :1]) + x[:, 1:2] ** 2
model = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 1))
ema = ExponentialMovingAverage(model.parameters(), decay=0.99)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(1, 1001):
    idx = torch.randint(0, 512, (64,))
    loss = nn.functional.mse_loss(model(x[idx]), y[idx])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema.update()
    if step % 200 == 0:
        ema.swap()
        averaged = evaluate(model, x, y)
        ema.swap()
        print(f"step {step}: loss {loss.item():.4f}, averaged model {averaged:.4f}")
