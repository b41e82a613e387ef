import torch
import torch.nn as nn
from torch.autograd import Function, grad

torch.manual_seed(0)


class Softsign2(Function):
    @staticmethod
    def forward(ctx, inp):
        denom = 1.0 + inp * inp
        root = torch.sqrt(denom)
        ctx.save_for_backward(inp)
        return inp / root

    @staticmethod
    def backward(ctx, grad_out):
        (inp,) = ctx.saved_tensors
        root = torch.sqrt(1.0 + inp * inp)
        return grad_out / root**3


class Critic(nn.Module):
    def __init__(self, dim=2, width=32):
        super().__init__()
        self.fc1 = nn.Linear(dim, width)
        self.fc2 = nn.Linear(width, width)
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        x = Softsign2.apply(self.fc1(x))
        x = Softsign2.apply(self.fc2(x))
        return self.out(x)


def penalty(critic, real, fake):
    eps = torch.rand(real.size(0), 1)
    mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
    (g,) = grad(critic(mix).sum(), mix, create_graph=True)
    return ((g.norm(2, dim=1) - 1) ** 2).mean(), g


def samples(n):
    angle = torch.rand(n, 1) * 6.283
    return torch.cat([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(n, 2)


def main():
    critic = Critic()
    optimizer = torch.optim.Adam(critic.parameters(), lr=5e-3)
    for step in range(400):
        real, fake = samples(64), 1.5 * torch.randn(64, 2)
        gp, g = penalty(critic, real, fake)
        loss = critic(fake).mean() - critic(real).mean() + 10.0 * gp
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 80 == 79:
            print(f"{step} penalty {gp.item():.4f} gradient norm {g.norm(2, dim=1).mean():.3f}")


if __name__ == "__main__":
    main()
