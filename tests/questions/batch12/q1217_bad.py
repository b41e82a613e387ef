import resource

import torch


def tt_random(shape, rank):
    ranks = [1] + [rank] * (len(shape) - 1) + [1]
    return [(0.5 * torch.randn(ranks[i], shape[i], ranks[i + 1])).requires_grad_() for i in range(len(shape))]


def tt_full(cores):
    full = cores[0]
    for core in cores[1:]:
        full = torch.tensordot(full, core, dims=1)
    return full.squeeze(0).squeeze(-1)


def relative_error(a, b):
    return (a - b).norm() / b.norm()


def smoothness(cores):
    return sum((c[:, 1:] - c[:, :-1]).pow(2).mean() for c in cores)


def picture(h, w, frames):
    y = torch.linspace(-1, 1, h)[:, None, None]
    x = torch.linspace(-1, 1, w)[None, :, None]
    t = torch.linspace(0, 1, frames)[None, None, :]
    return torch.sin(4 * x + 3 * t) * torch.cos(3 * y) + torch.exp(-5 * (x - t) ** 2 - 5 * y**2)


def optimize(cores, target, max_iter=240, tol=1e-6):
    optimizer = torch.optim.Adam(cores, lr=0.02)
    loss_history, error_history = [], []
    for iteration in range(max_iter):
        full = tt_full(cores)
        loss = (full - target).pow(2).mean() + 1e-3 * smoothness(cores)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss_history.append(loss)
        error_history.append(relative_error(tt_full(cores), target))
        if iteration > 20 and abs(loss_history[-1] - loss_history[-20]) < tol:
            break
        if iteration % 40 == 0:
            used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(f"{iteration}: loss {loss_history[-1]:.5f}  error {error_history[-1]:.4f}  memory {used} MB")
    return loss_history, error_history


def main():
    torch.manual_seed(0)
    target = picture(100, 100, 20)
    cores = tt_random(target.shape, rank=8)
    loss_history, error_history = optimize(cores, target)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"end after {len(loss_history)}: error {error_history[-1]:.4f}  memory {used} MB")


if __name__ == "__main__":
    main()
