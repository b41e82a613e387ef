import torch
from torch import nn

torch.manual_seed(0)


class Scaler(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(6))

    def forward(self, x):
        return x * self.scale


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.scaler = Scaler()
        self.net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, x):
        return self.net(self.scaler(x)).squeeze(-1)


class GradientMonitor:
    def __init__(self, model):
        self.records = []
        self.handle = model.register_full_backward_hook(self.hook)

    def hook(self, module, grad_input, grad_output):
        self.records.append(grad_output[0].norm().item())

    def summary(self):
        if not self.records:
            return "nothing recorded"
        return f"{len(self.records)} records, mean norm {sum(self.records) / len(self.records):.4f}"


class Trainer:
    def __init__(self, model):
        self.model = model
        self.monitor = GradientMonitor(model)
        self.opt = torch.optim.Adam(model.parameters(), lr=5e-3)

    def step(self, x, y):
        pred = self.model(x)
        loss = nn.functional.mse_loss(pred, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


def main():
    trainer = Trainer(Regressor())
    w = torch.randn(6)
    for step in range(150):
        x = torch.randn(32, 6)
        loss = trainer.step(x, (x * w).sum(1))
        if step % 50 == 0:
            print(step, f"loss {loss:.4f}", trainer.monitor.summary())
    print(f"loss {loss:.4f}", trainer.monitor.summary())


main()
