import torch
from torch.autograd import Function

torch.manual_seed(0)


class HoldFirst(Function):
    @staticmethod
    def forward(ctx, x, keep):
        ctx.keep = keep
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        g = g.contiguous()
        for i in range(ctx.keep):
            g[i] = 0.0
        return g, None


class Springs:
    def __init__(self, n, anchored):
        self.pos = torch.randn(n, requires_grad=True)
        self.rest = torch.linspace(-1.0, 1.0, n)
        self.pull = torch.linspace(1.0, 2.0, n)
        self.anchored = anchored

    def energy(self):
        held = HoldFirst.apply(self.pos * self.pull, self.anchored)
        return held.sum()

    def restore(self):
        return 0.5 * ((self.pos - self.rest) ** 2).sum()


def relax(system, steps, lr):
    opt = torch.optim.SGD([system.pos], lr=lr)
    for step in range(steps):
        opt.zero_grad()
        energy = system.energy()
        total = energy + system.restore()
        total.backward()
        opt.step()
        if step % 50 == 0:
            print(f"step {step} total {total.item():.4f} energy {energy.item():.4f}")
    return total.item()


system = Springs(10, anchored=2)
relax(system, 200, 0.1)
expected = system.rest - system.pull
expected[:2] = system.rest[:2]
print("found   ", [round(v, 2) for v in system.pos.tolist()])
print("expected", [round(v, 2) for v in expected.tolist()])
print(f"distance {(system.pos.detach() - expected).abs().max().item():.4f}")
