import torch
import torch.nn as nn

torch.manual_seed(1)


class SineFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sin(x)

    @staticmethod
    def backward(ctx, grad_out):
        (x,) = ctx.saved_tensors
        return grad_out * torch.cos(x)


class Sine(nn.Module):
    def forward(self, x):
        return SineFunction.apply(x)


class EnergyNet(nn.Module):
    def __init__(self, dim, hidden=48):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(dim, hidden), Sine(), nn.Linear(hidden, hidden), Sine(), nn.Linear(hidden, 1)
        )

    def forward(self, positions):
        return self.body(positions).squeeze(-1)


def true_forces(positions):
    x, y = positions.unbind(1)
    fx = -(2 * torch.cos(2 * x) * torch.cos(y) + x)
    fy = torch.sin(2 * x) * torch.sin(y) - 0.5 * y
    return torch.stack([fx, fy], 1)


def predict_forces(model, positions, train):
    positions = positions.clone().requires_grad_(True)
    energy = model(positions).sum()
    (grad,) = torch.autograd.grad(energy, positions, create_graph=train)
    return -grad


def run():
    model = EnergyNet(2)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 600)
    train_x = torch.rand(128, 2) * 4 - 2
    test_x = torch.rand(512, 2) * 4 - 2
    for step in range(600):
        optimizer.zero_grad()
        forces = predict_forces(model, train_x, True)
        loss = ((forces - true_forces(train_x)) ** 2).mean()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 200 == 0:
            print(f"step {step}: force loss {loss.item():.4f}")
    error = ((predict_forces(model, test_x, False) - true_forces(test_x)) ** 2).mean().sqrt()
    print(f"test force rmse {error.item():.4f}")


run()
