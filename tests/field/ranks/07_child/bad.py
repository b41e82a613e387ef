import torch
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F


def make(n, seed):
    g = torch.Generator().manual_seed(seed)
    angle = torch.rand(n, generator=g) * 6.283
    kind = torch.randint(0, 2, (n,), generator=g)
    radius = 1.0 + kind.float() + 0.15 * torch.randn(n, generator=g)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], 1), kind


def build():
    return nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))


def fit(model, epochs, report):
    torch.set_num_threads(1)
    x, y = make(1000, 1)
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    g = torch.Generator().manual_seed(3)
    for epoch in range(epochs):
        perm = torch.randperm(len(x), generator=g)
        total = 0.0
        for i in range(0, len(x), 50):
            idx = perm[i:i + 50]
            loss = F.cross_entropy(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        report.put(total / 20)


def evaluate(model):
    x, y = make(1000, 2)
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    ctx = mp.get_context("fork")
    model = build()
    before = evaluate(model)
    report = ctx.Queue()
    child = ctx.Process(target=fit, args=(model, 12, report))
    child.start()
    losses = [report.get() for _ in range(12)]
    child.join()
    print(f"training loss {losses[0]:.4f} -> {losses[-1]:.4f}, exit code {child.exitcode}")
    print(f"accuracy before {before:.4f} after {evaluate(model):.4f}")
    print("weights", repr(sum(p.double().sum().item() for p in model.parameters())))


if __name__ == "__main__":
    main()
