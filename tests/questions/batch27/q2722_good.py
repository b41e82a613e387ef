import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(0)

VOCAB, SEQ_LEN, BSZ = 40, 16, 16
trans = torch.softmax(2.5 * torch.randn(VOCAB, VOCAB), dim=1)
trans[:, 0] = 0
trans = trans / trans.sum(1, keepdim=True)


def sample_book(n):
    toks = [1]
    for _ in range(n - 1):
        toks.append(torch.multinomial(trans[toks[-1]], 1).item())
    return torch.tensor(toks)


train_stream = sample_book(8001)
eval_books = [sample_book(int(n)) for n in torch.randint(10, 30, (48,))]


class LM(nn.Module):
    def __init__(self, d=48):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.out = nn.Linear(d, VOCAB)

    def forward(self, x):
        h, _ = self.rnn(self.emb(x))
        return self.out(h)


def train_batches():
    starts = torch.randperm(len(train_stream) - SEQ_LEN - 1)[:BSZ * 60]
    for chunk in starts.split(BSZ):
        idx = chunk[:, None] + torch.arange(SEQ_LEN + 1)
        block = train_stream[idx]
        yield block[:, :-1], block[:, 1:]


def eval_batches():
    rows = []
    for book in eval_books:
        for piece in book.split(SEQ_LEN):
            row = torch.zeros(SEQ_LEN + 1, dtype=torch.long)
            row[:len(piece)] = piece
            rows.append(row)
    data = torch.stack(rows)
    for block in data.split(BSZ):
        yield block[:, :-1], block[:, 1:]


@torch.no_grad()
def evaluation(model):
    model.eval()
    total_loss, total_acc, total_tokens = 0.0, 0.0, 0
    for batch_x, batch_y in eval_batches():
        logits = model(batch_x)
        is_padding = batch_y.reshape(-1) == 0
        losses = F.cross_entropy(logits.reshape(-1, VOCAB), batch_y.reshape(-1), reduction='none')
        hits = logits.reshape(-1, VOCAB).argmax(1) == batch_y.reshape(-1)
        losses = losses[~is_padding]
        hits = hits[~is_padding]
        total_loss += losses.sum().item()
        total_acc += hits.float().sum().item()
        total_tokens += losses.numel()
    model.train()
    return total_loss / total_tokens, total_acc / total_tokens


model = LM()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(5):
    running = 0.0
    for i, (x, y) in enumerate(train_batches()):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x).reshape(-1, VOCAB), y.reshape(-1))
        loss.backward()
        optimizer.step()
        running += loss.item()
    val_loss, val_acc = evaluation(model)
    print(f'epoch {epoch} train loss {running / (i + 1):.4f} | eval loss {val_loss:.4f} '
          f'ppl {math.exp(val_loss):.2f} acc {val_acc:.3f}')
