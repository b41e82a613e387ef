import torch
import torch.nn as nn

torch.manual_seed(0)
WRITERS, DIM = 40, 64
style = torch.randn(WRITERS, 10)
render = torch.randn(10, DIM)
forge_shift = torch.randn(10)


def genuine(w, gen):
    z = style[w] + 0.25 * torch.randn(len(w), 10, generator=gen)
    return torch.tanh(z @ render / 3) + 0.1 * torch.randn(len(w), DIM, generator=gen)


def forged(w, gen):
    z = style[w] + 0.5 * forge_shift + 0.25 * torch.randn(len(w), 10, generator=gen)
    return torch.tanh(z @ render / 3) + 0.1 * torch.randn(len(w), DIM, generator=gen)


def make_pairs(n, gen, writers):
    w = writers[torch.randint(0, len(writers), (n,), generator=gen)]
    y = (torch.rand(n, generator=gen) < 0.5).float()
    first = genuine(w, gen)
    second = torch.where(y[:, None] == 1, genuine(w, gen), forged(w, gen))
    return first, second, y


class SigNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(DIM, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 16))

    def forward(self, a, b):
        return self.net(a), self.net(b)


class ContrastiveLoss(nn.Module):
    def __init__(self, alpha, beta, margin):
        super().__init__()
        self.alpha, self.beta, self.margin = alpha, beta, margin

    def forward(self, x1, x2, y):
        distance = torch.pairwise_distance(x1, x2, p=2)
        loss = self.alpha * y * distance ** 2 + \
            self.beta * (1 - y) * torch.clamp(self.margin - distance, min=0) ** 2
        return loss.mean()


def evaluate(model, gen, writers):
    model.eval()
    with torch.no_grad():
        a, b, y = make_pairs(2000, gen, writers)
        d = torch.pairwise_distance(*model(a, b))
        best = max(((d <= t).float() == y).float().mean().item() for t in torch.linspace(d.min(), d.max(), 100))
    model.train()
    return best, d[y == 1].mean().item(), d[y == 0].mean().item()


gen = torch.Generator().manual_seed(1)
train_writers, test_writers = torch.arange(0, 30), torch.arange(30, 40)
model = SigNet()
criterion = ContrastiveLoss(alpha=1.0, beta=1.0, margin=1.0)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(10):
    total = 0.0
    for _ in range(100):
        a, b, y = make_pairs(64, gen, train_writers)
        loss = criterion(*model(a, b), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    acc, d_gen, d_forg = evaluate(model, gen, test_writers)
    print(f"epoch {epoch} loss {total / 100:.4f} accuracy {acc:.3f} distance genuine {d_gen:.3f} forged {d_forg:.3f}")
print(f"final loss {total / 100:.4f} accuracy {acc:.3f}")
