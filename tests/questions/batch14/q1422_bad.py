import torch
import torch.nn.functional as F

INNER_LR, INNER_STEPS, TASKS = 0.1, 3, 4


def init_weights(generator):
    sizes = [(1, 32), (32, 32), (32, 1)]
    weights = []
    for fan_in, fan_out in sizes:
        weights.append(torch.randn(fan_in, fan_out, generator=generator) * (1.0 / fan_in) ** 0.5)
        weights.append(torch.zeros(fan_out))
    return [w.requires_grad_() for w in weights]


def net(x, weights):
    x = torch.tanh(x @ weights[0] + weights[1])
    x = torch.tanh(x @ weights[2] + weights[3])
    return x @ weights[4] + weights[5]


def sample_task(generator):
    amplitude = 0.5 + 2.0 * torch.rand(1, generator=generator)
    phase = 3.14 * torch.rand(1, generator=generator)
    x = torch.rand(20, 1, generator=generator) * 6 - 3
    y = amplitude * torch.sin(x + phase)
    return x[:8], y[:8], x[8:], y[8:]


def adapt(weights, x_spt, y_spt):
    loss = F.mse_loss(net(x_spt, weights), y_spt)
    grad = torch.autograd.grad(loss, weights)
    fast_weights = [w - INNER_LR * g for w, g in zip(weights, grad)]
    for _ in range(1, INNER_STEPS):
        loss = F.mse_loss(net(x_spt, fast_weights), y_spt)
        grad = torch.autograd.grad(loss, fast_weights, retain_graph=True)
        fast_weights = [w - INNER_LR * g for w, g in zip(fast_weights, grad)]
    return fast_weights


def meta_loss(weights, tasks):
    losses = []
    for x_spt, y_spt, x_qry, y_qry in tasks:
        fast_weights = adapt(weights, x_spt, y_spt)
        losses.append(F.mse_loss(net(x_qry, fast_weights), y_qry))
    return torch.stack(losses).mean()


def numeric_check(weights, generator):
    """Slope of the meta loss along a random direction: from the gradient, and from two evaluations."""
    tasks = [sample_task(generator) for _ in range(5)]
    grad = torch.autograd.grad(meta_loss(weights, tasks), weights)
    direction = [g / torch.cat([v.flatten() for v in grad]).norm() for g in grad]
    analytic = sum((g * d).sum() for g, d in zip(grad, direction)).item()
    eps, values = 1e-2, []
    for sign in (1, -1):
        moved = [(w + sign * eps * d).detach().requires_grad_() for w, d in zip(weights, direction)]
        values.append(meta_loss(moved, tasks).item())
    return analytic, (values[0] - values[1]) / (2 * eps)


def main():
    generator = torch.Generator().manual_seed(0)
    weights = init_weights(generator)
    meta_optim = torch.optim.Adam(weights, lr=3e-3)
    for step in range(200):
        tasks = [sample_task(generator) for _ in range(TASKS)]
        loss = meta_loss(weights, tasks)
        meta_optim.zero_grad()
        loss.backward()
        meta_optim.step()
        if step % 50 == 49:
            print(f"step {step}: query loss after {INNER_STEPS} inner steps {loss.item():.4f}")
    test = [sample_task(torch.Generator().manual_seed(1000 + i)) for i in range(50)]
    print(f"new tasks: query loss {meta_loss(weights, test).item():.4f}")
    slopes = [numeric_check(weights, generator) for _ in range(3)]
    print("slope by gradient / by difference:", ", ".join(f"{a:.3f} / {n:.3f}" for a, n in slopes))


if __name__ == "__main__":
    main()
