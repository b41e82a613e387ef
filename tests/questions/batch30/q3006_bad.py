import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

torch.set_num_threads(1)
torch.manual_seed(0)

VOCAB, TAGS, MAXLEN = 40, 5, 12


def make_data(n):
    lengths = torch.randint(3, MAXLEN + 1, (n,))
    x = torch.randint(1, VOCAB, (n, MAXLEN))
    prev = torch.cat([torch.zeros(n, 1, dtype=torch.long), x[:, :-1]], 1)
    y = (x + prev) % TAGS
    for i in range(n):
        x[i, lengths[i]:] = 0
        y[i, lengths[i]:] = -100
    return x, lengths, y


def sort_batch(x, lengths):
    lengths, perm_idx = lengths.sort(0, descending=True)
    return x[perm_idx], lengths, perm_idx


def unsort_batch(batch, perm_idx):
    for row, where in enumerate(perm_idx.tolist()):
        batch[where] = batch[row]
    return batch


class Tagger(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=0)
        self.rnn = nn.LSTM(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, TAGS)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(self.embed(x), lengths, batch_first=True)
        h, _ = pad_packed_sequence(self.rnn(packed)[0], batch_first=True, total_length=MAXLEN)
        return self.out(h)

    @torch.no_grad()
    def predict(self, x, lengths):
        x, lengths, perm_idx = sort_batch(x, lengths)
        best = self(x, lengths).argmax(-1)
        return unsort_batch(best, perm_idx)


train_x, train_len, train_y = make_data(1500)
test_x, test_len, test_y = make_data(200)
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)


def accuracy(pred, y):
    keep = y != -100
    return (pred[keep] == y[keep]).float().mean().item()


for epoch in range(8):
    model.train()
    total = 0.0
    for idx in torch.randperm(1500).split(50):
        x, lengths, perm_idx = sort_batch(train_x[idx], train_len[idx])
        y = train_y[idx][perm_idx]
        loss = F.cross_entropy(model(x, lengths).transpose(1, 2), y, ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    batched = torch.cat([model.predict(test_x[i:i + 10], test_len[i:i + 10]) for i in range(0, 200, 10)])
    print(f"epoch {epoch}: loss {total / 30:.3f} test accuracy {accuracy(batched, test_y):.3f}")

single = torch.cat([model.predict(test_x[i:i + 1], test_len[i:i + 1]) for i in range(200)])
print(f"test accuracy, one sentence at a time {accuracy(single, test_y):.3f}")
