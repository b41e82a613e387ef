import math

import torch
import torch.nn as nn

torch.manual_seed(1111)


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp, nhid, nlayers=1):
        super().__init__()
        self.ntoken, self.nhid, self.nlayers = ntoken, nhid, nlayers
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid, nlayers)
        self.decoder = nn.Linear(nhid, ntoken)

    def forward(self, inp, hidden):
        output, hidden = self.rnn(self.encoder(inp), hidden)
        return self.decoder(output).view(-1, self.ntoken), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        shape = (self.nlayers, bsz, self.nhid)
        return weight.new_zeros(shape), weight.new_zeros(shape)


def corpus(n, ntoken=20):
    out = [0]
    for jump in torch.randint(1, 3, (n,)).tolist():
        out.append((out[-1] * 3 + jump) % ntoken)
    return torch.tensor(out)


def batchify(data, bsz):
    nbatch = len(data) // bsz
    return data[: nbatch * bsz].view(bsz, -1).t().contiguous()


def repackage_hidden(h):
    return tuple(v.detach() for v in h)


def get_batch(source, i, bptt):
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i : i + seq_len], source[i + 1 : i + 1 + seq_len].reshape(-1)


def train(model, train_data, lr, bptt=15, clip=0.25):
    model.train()
    criterion = nn.CrossEntropyLoss()
    total_loss, n = 0.0, 0
    hidden = model.init_hidden(train_data.size(1))
    for i in range(0, train_data.size(0) - 1, bptt):
        data, targets = get_batch(train_data, i, bptt)
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)
        total_loss += loss.item()
        n += 1
    return total_loss / n


train_data = batchify(corpus(6000), 10)
model = RNNModel(20, 24, 32)
lr = 8.0
for epoch in range(1, 5):
    loss = train(model, train_data, lr)
    print(f"| epoch {epoch} | lr {lr:.2f} | loss {loss:.3f} | ppl {math.exp(loss):.2f}")
