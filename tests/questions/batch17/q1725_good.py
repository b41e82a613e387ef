import math

import torch


def f(t, W1, b1, W2):
    hidden = torch.tanh(W1 @ t + b1)
    return W2.T @ hidden


def g(t, params):
    return t * f(t, *params) + 1.0


def ode_loss(t, eps, params):
    slope = (g(t + eps, params) - g(t, params)) / eps
    return (slope - torch.cos(2 * math.pi * t)).pow(2).mean()


def solution(t):
    return torch.sin(2 * math.pi * t) / (2 * math.pi) + 1.0


def main():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    t = torch.linspace(0, 1, 100).view(1, -1)
    eps = 0.000345
    W1 = (4 * torch.randn(32, 1)).requires_grad_()
    b1 = (2 * torch.randn(32, 1)).requires_grad_()
    W2 = (0.2 * torch.randn(32, 1)).requires_grad_()
    params = (W1, b1, W2)
    learning_rate = 5e-3
    for it in range(4001):
        err = ode_loss(t, eps, params)
        err.backward()
        for p in params:
            p.data -= learning_rate * p.grad.data
            p.grad.zero_()
        if it % 1000 == 0:
            with torch.no_grad():
                off = (g(t, params) - solution(t)).abs().max().item()
            print(f"iteration {it:4d}: loss {err.item():14.6f}, largest error of u {off:10.4f}")
    different = len({round(w, 6) for w in W1.flatten().tolist()})
    print(f"different values among the 32 weights of W1: {different}")


if __name__ == "__main__":
    main()
