import math

import torch
import torch.nn.functional as F


def init_net(hidden=40):
    shapes = [(hidden, 1), (hidden,), (hidden, hidden), (hidden,), (1, hidden), (1,)]
    params = []
    for shape in shapes:
        bound = 1 / math.sqrt(shape[-1])
        params.append(torch.empty(shape).uniform_(-bound, bound).requires_grad_())
    return params


def net(x, p):
    x = torch.tanh(F.linear(x, p[0], p[1]))
    x = torch.tanh(F.linear(x, p[2], p[3]))
    return F.linear(x, p[4], p[5])


class InnerSGD:
    """Plain gradient steps on a copy of the weights; higher-order gradients on request."""

    def __init__(self, params, lr, track_higher_grads):
        self.lr, self.track_higher_grads = lr, track_higher_grads
        self.params = list(params)

    def step(self, loss):
        grads = torch.autograd.grad(loss, self.params, create_graph=self.track_higher_grads)
        new = [p - self.lr * g for p, g in zip(self.params, grads)]
        self.params = new


def sinusoid(generator, shots):
    amplitude = 0.5 + 2 * torch.rand(1, generator=generator)
    phase = math.pi * torch.rand(1, generator=generator)
    x = 6 * torch.rand(2 * shots, 1, generator=generator) - 3
    y = amplitude * torch.sin(x + phase)
    return (x[:shots], y[:shots]), (x[shots:], y[shots:])


def meta_train(iterations=501, tasks=4, inner_steps=2):
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    meta_params = init_net()
    meta_opt = torch.optim.Adam(meta_params, lr=2e-3)
    window = []
    for iteration in range(iterations):
        meta_opt.zero_grad()
        for _ in range(tasks):
            support, query = sinusoid(generator, shots=10)
            inner = InnerSGD(meta_params, lr=0.02, track_higher_grads=False)
            for _ in range(inner_steps):
                inner.step(F.mse_loss(net(support[0], inner.params), support[1]))
            query_loss = F.mse_loss(net(query[0], inner.params), query[1]) / tasks
            query_loss.backward()
            window.append(query_loss.item() * tasks)
        meta_opt.step()
        if iteration % 100 == 0:
            norms = [p.grad.norm().item() if p.grad is not None else None for p in meta_params]
            print(f"{iteration}: query loss {sum(window) / len(window):.3f}  gradient of the first weight {norms[0]}")
            window.clear()


if __name__ == "__main__":
    meta_train()
