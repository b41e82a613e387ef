import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
VOCAB, PAD, BOS, MAX_LEN = 24, 0, 1, 48


class PianoLM(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.rnn = nn.GRU(dim, 64, batch_first=True)
        self.lm_head = nn.Linear(64, VOCAB)

    def forward(self, ids):
        return self.lm_head(self.rnn(self.emb(ids))[0])


def melody(length):
    step = int(torch.randint(1, 4, ()))
    note = int(torch.randint(2, VOCAB, ()))
    out = [BOS]
    for _ in range(length):
        out.append(note)
        note = 2 + (note - 2 + step) % (VOCAB - 2)
    return out


def collate(seqs):
    ids = torch.full((len(seqs), MAX_LEN + 1), PAD)
    for row, s in zip(ids, seqs):
        row[:len(s)] = torch.tensor(s)
    return ids[:, :-1], ids[:, 1:]


def batch(n=16):
    return collate([melody(int(torch.randint(5, 9, ()))) for _ in range(n)])


model = PianoLM()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
loss_fn = nn.CrossEntropyLoss()
for step in range(150):
    src, tgt = batch()
    logits = model(src)
    loss = loss_fn(logits.transpose(1, 2), tgt)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        with torch.no_grad():
            src, tgt = batch(64)
            pred, real = model(src).argmax(-1), tgt != PAD
            acc_all = (pred == tgt).float().mean().item()
            acc_notes = (pred[real] == tgt[real]).float().mean().item()
        print(f"step {step + 1}  loss {loss.item():.3f}  accuracy {acc_all:.3f}  on notes {acc_notes:.3f}")
