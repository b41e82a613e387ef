import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
PAD, SEP, vocab, hidden = 0, 1, 26, 32


def make_pair():
    entail = int(torch.rand(()) < 0.5)
    premise = (torch.randperm(vocab - 2)[: int(torch.randint(3, 7, ()))] + 2).tolist()
    others = [w for w in range(2, vocab) if w not in premise]
    pool = premise if entail else others
    hypothesis = [pool[int(torch.randint(0, len(pool), ()))] for _ in range(2)]
    return premise, hypothesis, entail


def build_batch(pairs, pad_to):
    ids, segments, masks = [], [], []
    for premise, hypothesis, _ in pairs:
        tokens = premise + [SEP] + hypothesis
        segment = [0] * (len(premise) + 1) + [1] * len(hypothesis)
        missing = pad_to - len(tokens)
        ids.append(tokens + [PAD] * missing)
        segments.append(segment + [0] * missing)
        masks.append([1] * len(tokens) + [0] * missing)
    label = torch.tensor([pair[2] for pair in pairs])
    return torch.tensor(ids), torch.tensor(segments), torch.tensor(masks), label


class BertNLIModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.word, self.segment = nn.Embedding(vocab, hidden), nn.Embedding(2, hidden)
        self.attention = nn.ModuleList([nn.MultiheadAttention(hidden, 4, batch_first=True) for _ in range(2)])
        self.mlp = nn.ModuleList(
            [nn.Sequential(nn.Linear(hidden, 64), nn.GELU(), nn.Linear(64, hidden)) for _ in "ab"]
        )
        self.norm = nn.ModuleList([nn.LayerNorm(hidden) for _ in range(4)])
        self.nli_head = nn.Linear(hidden, 2)

    def forward(self, ids, segments, masks):
        x = self.word(ids) + self.segment(segments)
        for i, (attention, mlp) in enumerate(zip(self.attention, self.mlp)):
            y, _ = attention(x, x, x, key_padding_mask=masks == 0, need_weights=False)
            x = self.norm[2 * i](x + y)
            x = self.norm[2 * i + 1](x + mlp(x))
        weight = masks.unsqueeze(-1).float()
        return self.nli_head((x * weight).sum(1) / weight.sum(1))


model = BertNLIModel()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(600):
    pairs = [make_pair() for _ in range(64)]
    ids, segments, masks, label = build_batch(pairs, pad_to=max(len(p) + len(h) + 1 for p, h, _ in pairs))
    loss = F.cross_entropy(model(ids, segments, masks), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if (step + 1) % 200 == 0:
        print(f"step {step + 1}: loss {loss.item():.4f}")

model.eval()
test_pairs = [make_pair() for _ in range(400)]
with torch.no_grad():
    for pad_to in (9, 16, 32, 64):
        ids, segments, masks, label = build_batch(test_pairs, pad_to)
        predicted = model(ids, segments, masks).argmax(1)
        print(f"padded to {pad_to}: accuracy {(predicted == label).float().mean().item():.3f}")
