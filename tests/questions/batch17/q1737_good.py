import math

import torch
import torch.nn as nn


class SelfAdaptiveWeighting:
    def __init__(self, update_every=25):
        self.update_every = update_every
        self.weights = {}
        self.norms = {}

    def aggregate(self, losses, model, step):
        if step % self.update_every == 0:
            self.update(losses, list(model.parameters()))
        return sum(self.weights[name] * loss for name, loss in losses.items())

    def update(self, losses, params):
        for name, loss in losses.items():
            grads = torch.autograd.grad(loss, params, retain_graph=True, allow_unused=True)
            grads = [g for g in grads if g is not None]
            self.norms[name] = torch.cat([g.flatten() for g in grads]).norm().item()
        total = sum(self.norms.values())
        for name, norm in self.norms.items():
            self.weights[name] = 0.5 * self.weights.get(name, 1.0) + 0.5 * total / norm


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, x):
        return self.net(x)


def conditions(model, x, ends):
    u = model(x)
    u_x = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
    u_xx = torch.autograd.grad(u_x.sum(), x, create_graph=True)[0]
    residual = u_xx + (3 * math.pi) ** 2 * torch.sin(3 * math.pi * x)
    return {
        "equation": residual.pow(2).mean(),
        "boundary": model(ends).pow(2).mean(),
    }


def true_norm(loss, params):
    grads = torch.autograd.grad(loss, params, retain_graph=True, allow_unused=True)
    return torch.cat([g.flatten() for g in grads if g is not None]).norm().item()


def main():
    torch.manual_seed(0)
    model = Field()
    weighting = SelfAdaptiveWeighting()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    x = torch.linspace(0, 1, 60).unsqueeze(1).requires_grad_()
    ends = torch.tensor([[0.0], [1.0]])
    for step in range(801):
        losses = conditions(model, x, ends)
        loss = weighting.aggregate(losses, model, step)
        if step % 200 == 0:
            norms = [true_norm(one, list(model.parameters())) for one in losses.values()]
            print(
                f"step {step:3d}: gradient norms used",
                [round(n, 4) for n in weighting.norms.values()],
                end="",
            )
            print(", of the conditions by themselves", [round(n, 4) for n in norms])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    error = (model(x) - torch.sin(3 * math.pi * x)).abs().max().item()
    print(
        f"weights { ({k: round(w, 2) for k, w in weighting.weights.items()}) }, largest error of u {error:.4f}"
    )


if __name__ == "__main__":
    main()
