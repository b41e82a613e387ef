import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
VOCAB, T, B = 16, 24, 32
perm = torch.randperm(VOCAB)


def make_batch(n, gen):
    seq = torch.zeros(n, T, dtype=torch.long)
    seq[:, 0] = torch.randint(0, VOCAB, (n,), generator=gen)
    seq[:, 1] = torch.randint(0, VOCAB, (n,), generator=gen)
    for t in range(2, T):
        nxt = (perm[seq[:, t - 1]] + seq[:, t - 2]) % VOCAB
        noise = torch.rand(n, generator=gen) < 0.1
        rnd = torch.randint(0, VOCAB, (n,), generator=gen)
        seq[:, t] = torch.where(noise, rnd, nxt)
    return seq


def causal_lm_loss(logits, labels, ignore_index=-100):
    labels = F.pad(labels, (0, 1), value=ignore_index)
    labels = labels[..., 1:].contiguous()
    return F.cross_entropy(logits.view(-1, logits.size(-1)), labels.view(-1), ignore_index=ignore_index)


class Captioner(nn.Module):
    def __init__(self, d=48, heads=4, layers=2):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, d)
        self.pos = nn.Embedding(T, d)
        layer = nn.TransformerEncoderLayer(d, heads, 4 * d, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, VOCAB)

    def forward(self, ids, labels=None):
        n = ids.size(1)
        mask = torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)
        h = self.tok(ids) + self.pos(torch.arange(n))
        logits = self.head(self.norm(self.blocks(h, mask=mask)))
        loss = None
        if labels is not None:
            shifted_logits = logits[:, :-1, :].contiguous()
            targets = labels[:, 1:].contiguous()
            loss = F.cross_entropy(shifted_logits.view(-1, VOCAB), targets.view(-1))
        return loss, logits


gen = torch.Generator().manual_seed(1)
model = Captioner()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(450):
    ids = make_batch(B, gen)
    loss, _ = model(ids, labels=ids)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if step % 75 == 0:
        print(f"step {step} loss {loss.item():.3f}")

model.eval()
with torch.no_grad():
    prompt = make_batch(64, gen)
    _, logits = model(prompt)
    acc = (logits[:, 1:-1].argmax(-1) == prompt[:, 2:]).float().mean().item()
    out = prompt[:, :4]
    good = 0
    while out.size(1) < T:
        nxt = model(out)[1][:, -1].argmax(-1)
        good += (nxt == (perm[out[:, -1]] + out[:, -2]) % VOCAB).float().mean().item()
        out = torch.cat([out, nxt[:, None]], dim=1)
print(f"final loss {loss.item():.3f}  next-token accuracy {acc:.3f}  generated tokens that obey the rule {good / (T - 4):.3f}")
