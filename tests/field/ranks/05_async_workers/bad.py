import torch
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh())
        self.policy = nn.Linear(32, 3)
        self.value = nn.Linear(32, 1)

    def forward(self, x):
        h = self.body(x)
        return self.policy(h), self.value(h)


def push_gradients(local, shared):
    for p, sp in zip(local.parameters(), shared.parameters()):
        if sp.grad is not None:
            return
        sp._grad = p.grad


def observe(gen, n=16):
    s = torch.randn(n, 8, generator=gen)
    best = torch.stack([s[:, 0] + s[:, 1], s[:, 2] - s[:, 3], s[:, 4] * s[:, 5]], 1)
    return s, best


def worker(index, shared, turns, steps):
    torch.manual_seed(100 + index)
    torch.set_num_threads(1)
    gen = torch.Generator().manual_seed(200 + index)
    local = Net()
    opt = torch.optim.SGD(shared.parameters(), lr=0.02)
    for step in range(steps):
        turns[index].acquire()
        local.load_state_dict(shared.state_dict())
        s, payoff = observe(gen)
        logits, value = local(s)
        action = torch.multinomial(logits.softmax(1), 1)
        reward = payoff.gather(1, action).squeeze(1)
        adv = reward - value.squeeze(1)
        logp = F.log_softmax(logits, 1).gather(1, action).squeeze(1)
        loss = -(logp * adv.detach()).mean() + 0.5 * adv.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        push_gradients(local, shared)
        opt.step()
        turns[(index + 1) % len(turns)].release()


def main():
    torch.manual_seed(0)
    ctx = mp.get_context("spawn")
    shared = Net()
    shared.share_memory()
    turns = [ctx.Semaphore(1 if i == 0 else 0) for i in range(2)]
    procs = [ctx.Process(target=worker, args=(i, shared, turns, 600)) for i in range(2)]
    for p in procs:
        p.start()
    for p in procs:
        p.join()
    s, payoff = observe(torch.Generator().manual_seed(9), 2000)
    with torch.no_grad():
        logits, value = shared(s)
    got = payoff.gather(1, logits.argmax(1, keepdim=True)).mean()
    print(f"mean reward {got.item():.4f} of {payoff.max(1).values.mean().item():.4f}")
    print("exit codes", [p.exitcode for p in procs])
    print("weights", repr(sum(p.double().sum().item() for p in shared.parameters())))


if __name__ == "__main__":
    main()
