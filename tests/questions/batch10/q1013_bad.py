import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class EMA(nn.Module):
    def __init__(self, model, beta=0.98):
        super().__init__()
        self.online = [model]
        self.ema_model = copy.deepcopy(model).requires_grad_(False)
        self.beta = beta

    def params(self, model):
        return model.named_parameters()

    def buffers_of(self, model):
        return ((n, b) for n, b in self.ema_model.named_buffers() if b.is_floating_point())

    @torch.no_grad()
    def update(self):
        model = self.online[0]
        for (_, cur), (_, ma) in zip(self.params(model), self.params(self.ema_model)):
            ma.lerp_(cur, 1.0 - self.beta)
        for (_, cur), (_, ma) in zip(self.buffers_of(model), self.buffers_of(self.ema_model)):
            ma.lerp_(cur, 1.0 - self.beta)

    def forward(self, x):
        return self.ema_model(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(1, 16, 5, padding=2), nn.BatchNorm1d(16), nn.ReLU(),
            nn.Conv1d(16, 32, 5, stride=2, padding=2), nn.BatchNorm1d(32), nn.ReLU(),
            nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, 4),
        )

    def forward(self, x):
        return self.layers(x)


def waves(n):
    y = torch.randint(4, (n,))
    t = torch.linspace(0, 6.28, 32)
    x = torch.sin((y + 1).unsqueeze(1) * t + torch.rand(n, 1) * 6.28)
    return (20 + 8 * x + 4 * torch.randn(n, 32)).unsqueeze(1), y


model = Net()
ema = EMA(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
x_val, y_val = waves(512)
for step in range(300):
    model.train()
    x, y = waves(32)
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema.update()
    if step % 60 == 59:
        model.eval()
        ema.eval()
        with torch.no_grad():
            acc = (model(x_val).argmax(1) == y_val).float().mean().item()
            acc_ema = (ema(x_val).argmax(1) == y_val).float().mean().item()
        print(f"step {step + 1}  loss {loss.item():.3f}  acc {acc:.3f}  acc of the EMA model {acc_ema:.3f}")
