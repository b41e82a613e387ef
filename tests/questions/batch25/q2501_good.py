import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)

LENGTH, VOCAB, STEPS = 8, 6, 24
MASK = VOCAB
BATCH, ITERS = 64, 1500


def make_sequences(n):
    pair = torch.randint(0, VOCAB, (n, 2))
    return pair.repeat(1, LENGTH // 2)


def follows_pattern(seq):
    return (seq[:, 2:] == seq[:, :-2]).all(dim=1)


def masking_rate(t):
    return (t + 1).float() / STEPS


class Denoiser(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.tokens = nn.Embedding(VOCAB + 1, dim)
        self.positions = nn.Parameter(torch.randn(LENGTH, dim) * 0.1)
        self.time = nn.Embedding(STEPS, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 2 * dim, dropout=0.0, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, x, t):
        h = self.tokens(x) + self.positions + self.time(t)[:, None]
        return self.out(self.body(h))


@torch.no_grad()
def generate(model, n):
    model.eval()
    x = torch.full((n, LENGTH), MASK)
    for step in reversed(range(STEPS)):
        t = torch.full((n,), step)
        probs = F.softmax(model(x, t), dim=-1)
        draw = torch.multinomial(probs.view(-1, VOCAB), 1).view(n, LENGTH)
        stay = torch.rand(n, LENGTH) < step / (step + 1)
        hidden = x == MASK
        x = torch.where(hidden & ~stay, draw, x)
    return x


model = Denoiser()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
for it in range(ITERS):
    model.train()
    clean = make_sequences(BATCH)
    t = torch.randint(0, STEPS, (BATCH,))
    hidden = torch.rand(BATCH, LENGTH) < masking_rate(t)[:, None]
    noisy = torch.where(hidden, torch.full_like(clean, MASK), clean)
    logits = model(noisy, t)
    loss = F.cross_entropy(logits[hidden], clean[hidden])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 300 == 0:
        print(f"iter {it:5d}  loss {loss.item():.3f}")

samples = generate(model, 1000)
print("examples:", ["".join(map(str, s.tolist())) for s in samples[:4]])
print(f"valid samples: {follows_pattern(samples).float().mean().item():.3f}")
