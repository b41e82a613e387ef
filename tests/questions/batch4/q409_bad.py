import torch
from torch import nn

torch.manual_seed(0)


class OdeintAdjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, func, y0, t, *params):
        ys = [y0]
        for t0, t1 in zip(t[:-1], t[1:], strict=True):
            ys.append(ys[-1] + (t1 - t0) * func(t0, ys[-1]))
        ctx.func, ctx.params = func, params
        ctx.save_for_backward(t, *ys)
        return torch.stack(ys)

    @staticmethod
    def backward(ctx, grad_ys):
        t, *ys = ctx.saved_tensors
        adjoint = grad_ys[-1].clone()
        grads = [torch.zeros_like(p) for p in ctx.params]
        for i in range(len(t) - 1, 0, -1):
            dt = t[i] - t[i - 1]
            with torch.enable_grad():
                y = ys[i - 1].detach().requires_grad_(True)
                f = ctx.func(t[i - 1], y)
            vjp = torch.autograd.grad(f, (y, *ctx.params), adjoint * dt, allow_unused=True)
            for g, v in zip(grads, vjp[1:], strict=True):
                if v is not None:
                    g += v
            adjoint = adjoint + vjp[0] + grad_ys[i - 1]
        return (None, adjoint, None, *grads)


def odeint_adjoint(func, y0, t):
    return OdeintAdjoint.apply(func, y0, t, *tuple(func.parameters()))


class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 50), nn.Tanh(), nn.Linear(50, 1))

    def hamiltonian_flow(self, x):
        y = self.net(x)
        dy = torch.autograd.grad(y.sum(), x, create_graph=True)[0]
        return torch.stack([dy[:, 1], -dy[:, 0]], 1)

    def forward(self, t, x):
        return self.hamiltonian_flow(x)


def true_flow(x0, t):
    x = [x0]
    for t0, t1 in zip(t[:-1], t[1:], strict=True):
        q, p = x[-1][:, :1], x[-1][:, 1:]
        x.append(x[-1] + (t1 - t0) * torch.cat([p, -torch.sin(q)], 1))
    return torch.stack(x)


batch_t = torch.linspace(0, 1, 11)
func = ODEFunc()
optimizer = torch.optim.Adam(func.parameters(), lr=1e-2)
for itr in range(150):
    batch_x0 = torch.randn(32, 2)
    target = true_flow(batch_x0, batch_t)
    optimizer.zero_grad()
    pred = odeint_adjoint(func, batch_x0, batch_t)
    loss = (pred - target).pow(2).mean()
    loss.backward()
    optimizer.step()
    if itr % 30 == 0:
        print(f"iteration {itr}: loss {loss.item():.5f}")
