import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
PAD, BOS, EOS, VOCAB, LEN = 0, 1, 2, 20, 7


class Encoder(nn.Module):
    def __init__(self, emb=32, hidden=64):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, emb, padding_idx=PAD)
        self.lstm = nn.LSTM(emb, hidden, batch_first=True)

    def forward(self, code):
        return self.lstm(self.embed(code))[1]


class Decoder(nn.Module):
    def __init__(self, emb=32, hidden=64):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, emb, padding_idx=PAD)
        self.lstm = nn.LSTM(emb, hidden, batch_first=True)
        self.out = nn.Linear(hidden, VOCAB)

    def forward(self, tokens, state):
        h, state = self.lstm(self.embed(tokens), state)
        return self.out(h), state


class CodeSummarizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.decoder = Decoder()

    def forward(self, code, comment):
        logits, _ = self.decoder(comment, self.encoder(code))
        return logits

    @torch.no_grad()
    def generate(self, code):
        state, tok, result = self.encoder(code), torch.full((len(code), 1), BOS), []
        for _ in range(LEN):
            logits, state = self.decoder(tok, state)
            tok = logits.argmax(-1)
            result.append(tok)
        return torch.cat(result, 1)


def make_batch(n):
    length = torch.randint(3, 6, (n, 1))
    code = torch.randint(3, VOCAB, (n, LEN - 2))
    pos = torch.arange(LEN)
    code = torch.where(pos[: LEN - 2] < length, code, torch.tensor(PAD))
    comment = torch.full((n, LEN + 1), PAD)
    comment[:, 0] = BOS
    comment[:, 1 : LEN - 1] = torch.where(code > 0, (code - 3 + 5) % (VOCAB - 3) + 3, torch.tensor(PAD))
    comment.scatter_(1, length + 1, EOS)
    return code, comment


model = CodeSummarizer()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(1, 601):
    code, comment = make_batch(64)
    logits = model(code, comment[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, VOCAB), comment[:, 1:].reshape(-1), ignore_index=PAD)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    if step % 100 == 0:
        target = comment[:, 1:]
        gen = model.generate(code)
        acc = ((gen == target) & (target != PAD)).sum() / (target != PAD).sum()
        print(f"step {step}  loss {loss.item():.4f}  accuracy of the generated comments {acc:.3f}")
