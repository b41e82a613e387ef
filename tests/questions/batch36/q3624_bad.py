import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)
VOCAB, HIDDEN, SPLITS = 30, 32, [0, 10, 20, 30]


class SplitLoss(nn.Module):
    def __init__(self, hidden, splits):
        super().__init__()
        self.splits = splits
        self.ntails = len(splits) - 2
        self.tail_vectors = nn.Parameter(torch.zeros(self.ntails, hidden))
        self.tail_bias = nn.Parameter(torch.zeros(self.ntails))

    def forward(self, weight, bias, hidden, target):
        head_end = self.splits[1]
        head_w = torch.cat([weight[:head_end], self.tail_vectors])
        head_b = torch.cat([bias[:head_end], self.tail_bias])
        head = F.log_softmax(F.linear(hidden, head_w, head_b), dim=-1)
        total = -head.gather(1, target.clamp(max=head_end - 1).unsqueeze(1)).squeeze(1)
        total = total * (target < head_end).float()
        for i in range(self.ntails):
            lo, hi = self.splits[i + 1], self.splits[i + 2]
            pick = ((target >= lo) & (target < hi)).nonzero().squeeze(1)
            tail = F.log_softmax(F.linear(hidden[pick], weight[lo:hi], bias[lo:hi]), dim=-1)
            entry = tail.gather(1, (target[pick] - lo).unsqueeze(1)).squeeze(1)
            total = total.index_add(0, pick, -entry - head[pick, head_end + i])
        return total.mean()


class RNNModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Embedding(VOCAB, HIDDEN)
        self.rnn = nn.LSTM(HIDDEN, HIDDEN, batch_first=True)
        self.decoder = nn.Linear(HIDDEN, VOCAB)

    def forward(self, tokens):
        out, _ = self.rnn(self.encoder(tokens))
        return out.reshape(-1, HIDDEN)


successor = torch.randperm(VOCAB)
tokens = [torch.randint(0, VOCAB, (64, 1))]
for _ in range(20):
    jump = torch.rand(64, 1) < 0.1
    tokens.append(torch.where(jump, torch.randint(0, VOCAB, (64, 1)), successor[tokens[-1]]))
corpus = torch.cat(tokens, dim=1)
inputs, targets = corpus[:, :-1], corpus[:, 1:].reshape(-1)

model = RNNModel()
criterion = SplitLoss(HIDDEN, SPLITS)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(1, 151):
    optimizer.zero_grad()
    hidden = model(inputs)
    loss = criterion(model.decoder.weight, model.decoder.bias, hidden, targets)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step} loss {loss.item():.4f}")
