import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)
torch.set_num_threads(1)

BOS, BASE, MOD, LENGTH = 0, 1, 31, 10
VOCAB = BASE + MOD


def make_batch(n):
    start = torch.randint(0, MOD, (n,))
    stride = torch.randint(1, 6, (n,))
    steps = torch.arange(LENGTH)
    target = (start[:, None] + stride[:, None] * steps) % MOD + BASE
    source = torch.stack([start + BASE, stride + BASE], dim=1)
    return source, target


class Translator(nn.Module):
    def __init__(self, dim=64, heads=4, layers=2):
        super().__init__()
        self.token = nn.Embedding(VOCAB, dim)
        self.position = nn.Embedding(LENGTH + 2, dim)
        block = nn.TransformerEncoderLayer(dim, heads, 2 * dim, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(block, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, source, prev):
        x = torch.cat([source, prev], dim=1)
        n = x.size(1)
        h = self.token(x) + self.position(torch.arange(n))
        causal = torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)
        h = self.blocks(h, mask=causal)
        return self.head(self.norm(h[:, source.size(1):]))

    @torch.no_grad()
    def generate(self, source):
        prev = torch.full((source.size(0), 1), BOS)
        for _ in range(LENGTH):
            token = self(source, prev)[:, -1:].argmax(-1)
            prev = torch.cat([prev, token], dim=1)
        return prev[:, 1:]


def scheduled_inputs(model, source, target, rate):
    bos = torch.full((target.size(0), 1), BOS)
    prev = torch.cat([bos, target[:, :-1]], dim=1)
    with torch.no_grad():
        sampled = torch.cat([bos, model(source, prev).argmax(-1)[:, :-1]], dim=1)
    use_sampled = torch.rand(prev.shape) < rate
    return torch.where(use_sampled, sampled, prev)


model = Translator()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
STEPS = 500
for step in range(STEPS):
    source, target = make_batch(64)
    rate = 0.8 * step / STEPS
    prev = scheduled_inputs(model, source, target, rate)
    logits = model(source, prev)
    loss = F.cross_entropy(logits.reshape(-1, VOCAB), target.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 100 == 99:
        print(f"step {step + 1}  rate {rate:.2f}  loss {loss.item():.4f}")

model.eval()
source, target = make_batch(512)
hit = model.generate(source) == target
print(f"first token accuracy {hit[:, 0].float().mean():.3f}")
print(f"token accuracy {hit.float().mean():.3f}  sequence accuracy {hit.all(1).float().mean():.3f}")
