import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(1)
VOCAB, PAD, BOS, EOS, MAXLEN = 24, 0, 1, 2, 40


def make_sample():
    a, b = torch.randint(3, VOCAB, (2,)).tolist()
    n = torch.randint(2, 5, (1,)).item()
    seq = [BOS, a, b]
    for _ in range(n):
        seq.append((seq[-1] * 5 + 4) % (VOCAB - 3) + 3)
    return seq + [EOS]


def collate(samples):
    input_ids = torch.full((len(samples), MAXLEN), PAD)
    for i, s in enumerate(samples):
        input_ids[i, :len(s)] = torch.tensor(s)
    attention_mask = (input_ids != PAD).long()
    labels = input_ids.clone()
    labels[labels == PAD] = -100
    return {"input_ids": input_ids, "attention_mask": attention_mask, "labels": labels}


class TinyLM(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, VOCAB)

    def forward(self, input_ids, attention_mask, labels=None):
        h, _ = self.rnn(self.tok(input_ids))
        logits = self.lm_head(h)
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits[:, :-1].reshape(-1, VOCAB), labels[:, 1:].reshape(-1))
        return loss, logits


train = [make_sample() for _ in range(512)]
test = [make_sample() for _ in range(128)]
model = TinyLM()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(10):
    model.train()
    total = 0.0
    for i in range(0, 512, 32):
        batch = collate(train[i:i + 32])
        loss, _ = model(**batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 2 == 1:
        model.eval()
        with torch.no_grad():
            batch = collate(test)
            _, logits = model(batch["input_ids"], batch["attention_mask"])
            target, real = batch["input_ids"][:, 1:], batch["attention_mask"][:, 1:].bool()
            nll = F.cross_entropy(logits[:, :-1][real], target[real]).item()
        print(f"epoch {epoch + 1}: train loss {total / 16:.4f} test nll on text {nll:.4f}")
