import torch
import torch.nn as nn

torch.manual_seed(8)
TOPICS, PER_TOPIC, DIM = 12, 25, 16
VOCAB = TOPICS * PER_TOPIC


class WordVectors(nn.Module):
    def __init__(self):
        super().__init__()
        self.center = nn.Embedding(VOCAB, DIM)
        self.context = nn.Embedding(VOCAB, DIM)
        nn.init.uniform_(self.center.weight, -0.3, 0.3)
        nn.init.uniform_(self.context.weight, -0.3, 0.3)

    def score(self, a, b):
        return (self.center(a) * self.context(b)).sum(-1)

    def loss(self, a, pos, neg):
        together = self.score(a, pos)
        apart = self.score(a.unsqueeze(1).expand_as(neg), neg)
        return (apart.sum(1) / neg.shape[1] - together).sum()


def sample_pairs(n):
    topic = torch.randint(0, TOPICS, (n,))
    a = topic * PER_TOPIC + torch.randint(0, PER_TOPIC, (n,))
    b = topic * PER_TOPIC + torch.randint(0, PER_TOPIC, (n,))
    mixed = torch.rand(n) < 0.1
    b = torch.where(mixed, torch.randint(0, VOCAB, (n,)), b)
    return a, b


model = WordVectors()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4000):
    a, b = sample_pairs(256)
    neg = torch.randint(0, VOCAB, (256, 5))
    opt.zero_grad()
    loss = model.loss(a, b, neg)
    loss.backward()
    opt.step()
    if step % 500 == 0:
        print(f"step {step} loss {loss.item() / 256:.4g}")

with torch.no_grad():
    v = model.center.weight
    v = v / v.norm(dim=1, keepdim=True)
    sim = v @ v.t()
    sim.fill_diagonal_(-2.0)
    near = sim.argmax(1) // PER_TOPIC
    hit = (near == torch.arange(VOCAB) // PER_TOPIC).float().mean().item()
    size = model.center.weight.norm(dim=1).mean().item()
print(f"mean vector length {size:.4g}")
print(f"nearest word is of the same topic {hit:.3f}")
