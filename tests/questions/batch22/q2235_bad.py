import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class FedProxOptimizer(torch.optim.Optimizer):
    def __init__(self, params, lr=0.1, mu=0.0, momentum=0.0):
        super().__init__(params, dict(lr=lr, mu=mu, momentum=momentum))

    def set_old_weights(self, old):
        for group in self.param_groups:
            group["w_old"] = old

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p, w in zip(group["params"], group["w_old"]):
                d = p.grad + group["mu"] * (p - w)
                if group["momentum"] > 0:
                    state = self.state[p]
                    buf = state.setdefault("buf", torch.zeros_like(p))
                    buf.mul_(group["momentum"]).add_(d)
                    d = buf
                p.add_(d, alpha=-group["lr"])


def make_clients(n_clients, gen):
    means = torch.randn(6, 10, generator=gen) * 1.5
    clients = []
    for c in range(n_clients):
        labels = torch.tensor([c % 6, (c + 1) % 6])[torch.randint(0, 2, (300,), generator=gen)]
        x = means[labels] + torch.randn(300, 10, generator=gen)
        clients.append((x, labels))
    test_y = torch.randint(0, 6, (1200,), generator=gen)
    test_x = means[test_y] + torch.randn(1200, 10, generator=gen)
    return clients, test_x, test_y


def train_client(model, x, y, mu):
    model.train()
    optimizer = FedProxOptimizer(model.parameters(), lr=0.1, mu=mu)
    for epoch in range(5):
        for idx in torch.randperm(len(x)).split(30):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[idx]), y[idx])
            loss.backward()
            optimizer.set_old_weights([p.detach().clone() for p in model.parameters()])
            optimizer.step()
    return loss.item()


def distance(a, b):
    return torch.cat([(p - q).flatten() for p, q in zip(a.parameters(), b.parameters())]).norm().item()


def run(mu, clients, test_x, test_y, rounds=10):
    torch.manual_seed(0)
    server = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 6))
    drift = 0.0
    for r in range(rounds):
        locals_ = []
        for x, y in clients:
            local = copy.deepcopy(server)
            train_client(local, x, y, mu)
            locals_.append(local)
        drift = sum(distance(m, server) for m in locals_) / len(locals_)
        with torch.no_grad():
            for name, p in server.named_parameters():
                p.copy_(torch.stack([dict(m.named_parameters())[name] for m in locals_]).mean(0))
    with torch.no_grad():
        logits = server(test_x)
    return drift, F.cross_entropy(logits, test_y).item(), (logits.argmax(1) == test_y).float().mean().item()


clients, test_x, test_y = make_clients(6, torch.Generator().manual_seed(3))
for mu in (0.0, 0.1, 1.0):
    drift, loss, acc = run(mu, clients, test_x, test_y)
    print(f"mu {mu}: client drift {drift:.4f} test loss {loss:.4f} accuracy {acc:.4f}")
