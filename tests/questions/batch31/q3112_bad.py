import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(1)


class Memory(nn.Module):
    def __init__(self, n_items=32, dim=24, temperature=0.2):
        super().__init__()
        self.keys = nn.Parameter(F.normalize(torch.randn(n_items, dim), dim=1))
        self.temperature = temperature

    def score(self, query):
        s = F.normalize(query, dim=1) @ F.normalize(self.keys, dim=1).t()
        return F.softmax(s / self.temperature, dim=1)

    def feature_contrastive_loss(self, query, label):
        logits = self.score(query)
        return torch.exp(F.nll_loss(logits, label))


class Encoder(nn.Module):
    def __init__(self, n_in=30, dim=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, 64), nn.ReLU(), nn.Linear(64, dim))

    def forward(self, x):
        return self.net(x)


centres = torch.randn(32, 30) * 0.7


def batch(n):
    y = torch.randint(0, 32, (n,))
    return centres[y] + torch.randn(n, 30), y


encoder, memory = Encoder(), Memory()
params = list(encoder.parameters()) + list(memory.parameters())
optimizer = torch.optim.SGD(params, lr=0.05, momentum=0.9)
for step in range(400):
    x, y = batch(64)
    loss = memory.feature_contrastive_loss(encoder(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 80 == 0 or step == 399:
        with torch.no_grad():
            xt, yt = batch(512)
            acc = (memory.score(encoder(xt)).argmax(1) == yt).float().mean()
        print(f"step {step} contrastive loss {loss.item():.4f} item accuracy {acc:.3f}")
