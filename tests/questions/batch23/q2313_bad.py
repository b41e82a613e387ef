import math

import torch
from torch import nn

torch.manual_seed(11)
torch.set_num_threads(1)

NTOKEN, BPTT, BATCH = 50, 20, 16


def corpus(n):
    table = torch.rand(NTOKEN, NTOKEN, generator=torch.Generator().manual_seed(2)) ** 14
    ids = [0]
    for _ in range(n - 1):
        ids.append(torch.multinomial(table[ids[-1]], 1).item())
    return torch.tensor(ids)


def batchify(data, size):
    n = data.size(0) // size
    return data[: n * size].view(size, -1).t().contiguous()


class RNNModel(nn.Module):
    def __init__(self, emb=48, hidden=64, layers=1):
        super().__init__()
        self.layers, self.hidden = layers, hidden
        self.encoder = nn.Embedding(NTOKEN, emb)
        self.rnn = nn.LSTM(emb, hidden, layers)
        self.decoder = nn.Linear(hidden, NTOKEN)

    def forward(self, x, state):
        y, state = self.rnn(self.encoder(x), state)
        return self.decoder(y).view(-1, NTOKEN), state

    def init_hidden(self, size):
        return torch.zeros(self.layers, size, self.hidden), torch.zeros(self.layers, size, self.hidden)


def get_batch(source, i):
    n = min(BPTT, len(source) - 1 - i)
    return source[i:i + n], source[i + 1:i + 1 + n].reshape(-1)


train_data = batchify(corpus(16000), BATCH)
val_data = batchify(corpus(3000), 8)
model = RNNModel()
criterion = nn.NLLLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)


def evaluate(source):
    model.eval()
    total, state = 0.0, model.init_hidden(source.size(1))
    with torch.no_grad():
        for i in range(0, source.size(0) - 1, BPTT):
            x, y = get_batch(source, i)
            output, state = model(x, state)
            total += len(x) * criterion(output, y).item()
    return total / (len(source) - 1)


for epoch in range(5):
    model.train()
    state = model.init_hidden(BATCH)
    total, steps = 0.0, 0
    for i in range(0, train_data.size(0) - 1, BPTT):
        x, y = get_batch(train_data, i)
        state = tuple(s.detach() for s in state)
        optimizer.zero_grad()
        output, state = model(x, state)
        loss = criterion(output, y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        total, steps = total + loss.item(), steps + 1
    val = evaluate(val_data)
    print(f"epoch {epoch} loss {total / steps:.2f} valid loss {val:.2f} ppl {math.exp(val):.2f}")

with torch.no_grad():
    state = model.init_hidden(val_data.size(1))
    output, _ = model(val_data[:-1], state)
    acc = (output.argmax(-1) == val_data[1:].reshape(-1)).float().mean().item()
print(f"next word accuracy {acc:.3f}")
