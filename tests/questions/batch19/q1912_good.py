import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(1)

TEXT = (
    "# notes on training\n"
    "- keep the data small\n"
    "- read the loss every day\n"
    "## purpose\n"
    "the purpose of this file is to keep notes about small examples.\n"
    "small examples are easy to read and easy to fix.\n"
) * 2
STEPS = 16
HIDDEN = 128

chars = sorted(set(TEXT))
index = {c: i for i, c in enumerate(chars)}
ids = torch.tensor([index[c] for c in TEXT])
VOCAB = len(chars)


class CharModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, 32)
        self.cell = nn.RNNCell(32, HIDDEN)
        self.head = nn.Linear(HIDDEN, VOCAB)

    def forward(self, token, h):
        h = self.cell(self.embed(token), h)
        return self.head(h), h


n_windows = (len(ids) - 1) // STEPS
inputs = ids[: n_windows * STEPS].view(n_windows, STEPS)
targets = ids[1 : n_windows * STEPS + 1].view(n_windows, STEPS)

model = CharModel()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(1, 201):
    for start in range(0, n_windows, 8):
        x = inputs[start : start + 8]
        y = targets[start : start + 8]
        h = torch.zeros(x.size(0), HIDDEN)
        losses = []
        for t in range(STEPS):
            logits, h = model(x[:, t], h)
            losses.append(F.cross_entropy(logits, y[:, t]))
        loss = torch.stack(losses).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 50 == 0:
        print(f"epoch {epoch:3d}  loss {loss.item():.4f}")


def evaluate():
    model.eval()
    nll, hits = 0.0, 0
    with torch.no_grad():
        h = torch.zeros(n_windows, HIDDEN)
        for t in range(STEPS):
            logits, h = model(inputs[:, t], h)
            nll += F.cross_entropy(logits, targets[:, t]).item()
            hits += (logits.argmax(1) == targets[:, t]).sum().item()
    return nll / STEPS, hits / targets.numel()


def sample(seed, length):
    out = seed
    with torch.no_grad():
        h = torch.zeros(1, HIDDEN)
        for c in seed:
            logits, h = model(torch.tensor([index[c]]), h)
        for _ in range(length):
            c = chars[logits.argmax(1).item()]
            out += c
            logits, h = model(torch.tensor([index[c]]), h)
    return out


nll, acc = evaluate()
print(f"per-character loss {nll:.4f}")
print(f"next-character accuracy {acc:.3f}")
print("sample", repr(sample("the ", 40)))
