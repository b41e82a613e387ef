import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(6)

VOCAB, CTX, DIM = 24, 24, 48
table = torch.softmax(torch.randn(VOCAB, VOCAB) * 3.0, dim=1)


def sample_text(n, length=CTX):
    seq = [torch.randint(0, VOCAB, (n,))]
    for _ in range(length - 1):
        seq.append(torch.multinomial(table[seq[-1]], 1).squeeze(1))
    return torch.stack(seq, dim=1)


def causal_lm_loss(logits, labels, vocab_size, ignore_index=-100, shift_labels=None):
    logits = logits.float()
    if shift_labels is None:
        labels = F.pad(labels, (0, 1), value=ignore_index)
        shift_labels = labels[..., 1:].contiguous()
    return F.cross_entropy(logits.reshape(-1, vocab_size), shift_labels.reshape(-1), ignore_index=ignore_index)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv = nn.Linear(DIM, 3 * DIM)
        self.out = nn.Linear(DIM, DIM)
        self.mlp = nn.Sequential(nn.Linear(DIM, 4 * DIM), nn.GELU(), nn.Linear(4 * DIM, DIM))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, t, 3, 4, d // 4).permute(2, 0, 3, 1, 4)
        att = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(att.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.ln2(x))


class CaptionModel(nn.Module):
    def __init__(self, prefix=4):
        super().__init__()
        self.prefix = prefix
        self.image = nn.Linear(8, DIM)
        self.tok = nn.Embedding(VOCAB, DIM)
        self.pos = nn.Parameter(0.02 * torch.randn(CTX + prefix, DIM))
        self.blocks = nn.Sequential(Block(), Block())
        self.head = nn.Sequential(nn.LayerNorm(DIM), nn.Linear(DIM, VOCAB))

    def forward(self, pixels, ids, labels=None):
        x = torch.cat([self.image(pixels), self.tok(ids)], dim=1)
        x = x + self.pos[: x.shape[1]]
        logits = self.head(self.blocks(x))
        loss = None
        if labels is not None:
            text_logits = logits[:, self.prefix:-1, :]
            targets = labels[:, 1:].contiguous()
            loss = causal_lm_loss(text_logits, targets, VOCAB)
        return loss, logits[:, self.prefix:]


model = CaptionModel()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
for step in range(400):
    ids = sample_text(32)
    loss, _ = model(torch.randn(32, 4, 8), ids, labels=ids)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if step % 100 == 0:
        print(f"step {step:3d}  loss {loss.item():.3f}")

with torch.no_grad():
    ids = sample_text(500)
    _, logits = model(torch.randn(500, 4, 8), ids)
    ce = F.cross_entropy(logits[:, :-1].reshape(-1, VOCAB), ids[:, 1:].reshape(-1)).item()
    likely = table[ids[:, :-1]].argmax(-1)
    agree = (logits[:, :-1].argmax(-1) == likely).float().mean().item()
print(f"final training loss {loss.item():.3f}")
print(f"next token cross entropy {ce:.3f}  agreement with the most likely successor {agree:.3f}")
