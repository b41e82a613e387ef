import threading

import torch
import torch.nn as nn
import torch.nn.functional as F

WORKERS = 3
STEPS = 300


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, x):
        return self.layers(x)


def target(x):
    return (x[:, :1] ** 2 - x[:, 1:2] * x[:, 2:3]).clamp(-3, 3)


def run(index, model, opt, turns, ready, go, log):
    gen = torch.Generator().manual_seed(30 + index)
    low = -2.0 + 4.0 * index / WORKERS
    for step in range(STEPS):
        x = torch.randn(32, 6, generator=gen)
        x[:, 0] = low + torch.rand(32, generator=gen) * 4.0 / WORKERS
        pred = model(x)
        loss = F.mse_loss(pred, target(x)) / WORKERS
        turns[index].acquire()
        if index == 0:
            opt.zero_grad()
        loss.backward()
        turns[(index + 1) % WORKERS].release()
        ready.wait()
        if index == 0:
            opt.step()
            log.append(loss.item())
        go.wait()


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = Net()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    turns = [threading.Semaphore(1 if i == 0 else 0) for i in range(WORKERS)]
    ready, go = threading.Barrier(WORKERS), threading.Barrier(WORKERS)
    log = []
    threads = [threading.Thread(target=run, args=(i, model, opt, turns, ready, go, log), name=f"trainer-{i}")
               for i in range(WORKERS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    gen = torch.Generator().manual_seed(99)
    x = torch.randn(2000, 6, generator=gen)
    x[:, 0] = -2 + 4 * torch.rand(2000, generator=gen)
    with torch.no_grad():
        err = (model(x) - target(x)).pow(2).squeeze(1)
    for i in range(WORKERS):
        low = -2.0 + 4.0 * i / WORKERS
        inside = (x[:, 0] >= low) & (x[:, 0] < low + 4.0 / WORKERS)
        print(f"part {i}: error {err[inside].mean().item():.4f}")
    print("weights", repr(sum(p.double().sum().item() for p in model.parameters())))


if __name__ == "__main__":
    main()
