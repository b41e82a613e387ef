import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import autograd


class MLP(nn.Module):
    def __init__(self, input_size, hidden_size, output_size, lamda):
        super().__init__()
        self.lamda = lamda
        self.layers = nn.Sequential(
            nn.Linear(input_size, hidden_size), nn.ReLU(), nn.Linear(hidden_size, output_size)
        )
        self.means, self.fishers = [], []

    def forward(self, x):
        return self.layers(x)

    def estimate_fisher(self, x, y):
        log_likelihoods = F.log_softmax(self(x), dim=1)[range(len(y)), y]
        grads = zip(*[autograd.grad(l, self.parameters(), retain_graph=True) for l in log_likelihoods])
        loglikelihood_grads = [torch.stack(gs) for gs in grads]
        return [(g**2).mean(dim=0) for g in loglikelihood_grads]

    def consolidate(self, fisher):
        self.means = [p.detach().clone() for p in self.parameters()]
        self.fishers = fisher

    def ewc_loss(self):
        losses = [(f * (p - m) ** 2).sum() for p, m, f in zip(self.parameters(), self.means, self.fishers)]
        return self.lamda / 2 * sum(losses) if losses else 0.0


def make_tasks(count=3, classes=6, width=16, n=900):
    tasks = []
    for t in range(count):
        y = torch.randint(classes, (n,))
        x = torch.zeros(n, width * count)
        part = slice(t * width, (t + 1) * width)
        x[:, part] = 1.2 * torch.randn(classes, width)[y] + torch.randn(n, width)
        tasks.append(((x[:600], y[:600]), (x[600:], y[600:])))
    return tasks


def accuracy(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(0)
    tasks = make_tasks()
    model = MLP(48, 64, 6, lamda=1500.0)
    for t, ((x, y), _) in enumerate(tasks):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(15):
            for rows in torch.randperm(len(x)).split(32):
                ce = F.cross_entropy(model(x[rows]), y[rows])
                loss = ce + model.ewc_loss()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        model.consolidate(model.estimate_fisher(x[:256], y[:256]))
        scores = [accuracy(model, *test) for _, test in tasks[: t + 1]]
        shown = "  ".join(f"task {i + 1}: {s:.3f}" for i, s in enumerate(scores))
        print(f"after task {t + 1}: {shown}  mean {sum(scores) / len(scores):.3f}")


if __name__ == "__main__":
    main()
