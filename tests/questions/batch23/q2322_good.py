import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)

IN, HID, OUT, N = 40, 64, 5, 2000


def make_task(seed):
    g = torch.Generator().manual_seed(seed)
    proto = torch.randn(OUT, IN, generator=g) * 0.9
    y = torch.randint(0, OUT, (N + 500,), generator=g)
    x = proto[y] + torch.randn(N + 500, IN, generator=g)
    return (x[:N], y[:N]), (x[N:], y[N:])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(IN, HID), nn.ReLU(), nn.Linear(HID, HID), nn.ReLU())
        self.head = nn.Linear(HID, OUT)

    def forward(self, x):
        return self.head(self.body(x))


class Continual:
    def __init__(self, net, strength=400.0):
        self.net = net
        self.strength = strength
        self.importance = None
        self.anchor = None

    def estimate(self, x, y, samples=600):
        self.importance = {n: torch.zeros_like(p) for n, p in self.net.named_parameters()}
        picks = torch.randperm(len(x))[:samples]
        for i in picks.tolist():
            logp = F.log_softmax(self.net(x[i:i + 1]), dim=1)
            label = torch.multinomial(logp.exp(), 1).view(())
            grads = torch.autograd.grad(logp[0, label], list(self.net.parameters()))
            for (name, _), g in zip(self.net.named_parameters(), grads):
                self.importance[name] = torch.add(self.importance[name], g.pow(2) / samples)
        self.anchor = {n: p.detach().clone() for n, p in self.net.named_parameters()}

    def penalty(self):
        if self.importance is None:
            return torch.zeros(())
        total = 0.0
        for name, p in self.net.named_parameters():
            total = total + (self.importance[name] * (p - self.anchor[name]).pow(2)).sum()
        return self.strength * total


def accuracy(net, data):
    with torch.no_grad():
        return (net(data[0]).argmax(1) == data[1]).float().mean().item()


def train(net, data, ewc, epochs):
    opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
    x, y = data
    for epoch in range(epochs):
        order = torch.randperm(len(x))
        for k in range(0, len(x), 50):
            b = order[k:k + 50]
            task_loss = F.cross_entropy(net(x[b]), y[b])
            loss = task_loss + ewc.penalty()
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"epoch {epoch} task loss {task_loss.item():.4f} penalty {float(loss - task_loss):.4f}")


first_train, first_test = make_task(10)
second_train, second_test = make_task(20)
net = Net()
ewc = Continual(net)
train(net, first_train, ewc, 8)
print("first task, before the second:", round(accuracy(net, first_test), 3))
ewc.estimate(*first_train)
train(net, second_train, ewc, 12)
print("first task, after the second:", round(accuracy(net, first_test), 3))
print("second task:", round(accuracy(net, second_test), 3))
