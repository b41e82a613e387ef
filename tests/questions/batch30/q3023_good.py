import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(1)

VOCAB, BLOCK, BATCH = 20, 16, 32


def simulate(n):
    seq = torch.zeros(n, dtype=torch.long)
    seq[0] = 1
    for i in range(1, n):
        seq[i] = (seq[i - 1] * 3 + 7) % VOCAB if torch.rand(()) < 0.9 else torch.randint(VOCAB, ())
    return seq


timelines = {"train": simulate(6000), "val": simulate(1500)}


def get_batch(split):
    data = timelines[split]
    ix = torch.randint(len(data) - BLOCK - 1, (BATCH,))
    x = torch.stack([data[i:i + BLOCK] for i in ix])
    y = torch.stack([data[i + 1:i + BLOCK + 1] for i in ix])
    return x, y


class Ethos(nn.Module):
    def __init__(self, dim=32, dropout=0.3):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim)
        self.pos = nn.Embedding(BLOCK, dim)
        self.drop = nn.Dropout(dropout)
        layer = nn.TransformerEncoderLayer(dim, 2, 64, dropout=dropout, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, 1)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, x):
        h = self.drop(self.tok(x) + self.pos(torch.arange(x.size(1))))
        mask = nn.Transformer.generate_square_subsequent_mask(x.size(1))
        return self.head(self.blocks(h, mask=mask, is_causal=True))


@torch.no_grad()
def estimate_loss(model, iters=10):
    out = {}
    model.eval()
    for split in ("train", "val"):
        losses, hits = [], []
        for _ in range(iters):
            x, y = get_batch(split)
            logits = model(x)
            losses.append(F.cross_entropy(logits.flatten(0, 1), y.flatten()))
            hits.append((logits.argmax(-1) == y).float().mean())
        out[split] = torch.stack(losses).mean().item()
        out[split + "_acc"] = torch.stack(hits).mean().item()
    model.train()
    return out


model = Ethos()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

for it in range(301):
    if it % 100 == 0:
        res = estimate_loss(model)
        print(f"iter {it}: train {res['train']:.3f} val {res['val']:.3f} val acc {res['val_acc']:.3f}")
    x, y = get_batch("train")
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


@torch.inference_mode()
def predict_next(model, history, rep_num=20):
    model.eval()
    counts = torch.zeros(VOCAB)
    for _ in range(rep_num):
        probs = F.softmax(model(history[None])[0, -1], dim=-1)
        counts += probs
    return counts / rep_num


history = timelines["val"][:BLOCK]
print("prob. of the true next token:", predict_next(model, history)[timelines["val"][BLOCK]].item())
