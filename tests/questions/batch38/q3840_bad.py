import torch
from torch import nn

torch.manual_seed(21)

VOCAB, STEPS, PAD = 14, 24, 0


def pairs(n):
    lens = torch.randint(2, 7, (n,))
    src = torch.zeros(n, STEPS, dtype=torch.long)
    tgt = torch.zeros(n, STEPS, dtype=torch.long)
    for i in range(n):
        words = torch.randint(1, VOCAB, (int(lens[i]),))
        src[i, :lens[i]] = words
        shifted = torch.cat([words[:1], words[:-1]])
        tgt[i, :lens[i]] = (words + 2 * (shifted > 6).long()) % (VOCAB - 1) + 1
    return src, tgt, lens


class MaskedSoftmaxCELoss(nn.CrossEntropyLoss):
    def forward(self, pred, label, valid_len):
        steps = torch.arange(label.size(1))
        weights = (steps[None, :] < valid_len[:, None]).float()
        self.reduction = "none"
        unweighted_loss = super().forward(pred.permute(0, 2, 1), label)
        return (unweighted_loss * weights).mean(dim=1)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, 24)
        self.rnn = nn.GRU(24, 48, batch_first=True)
        self.dense = nn.Linear(48, VOCAB)

    def forward(self, x):
        out, _ = self.rnn(self.embed(x))
        return self.dense(out)


src, tgt, lens = pairs(400)
net = Tagger()
loss_fn = MaskedSoftmaxCELoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.02)

for epoch in range(1, 13):
    total, tokens = 0.0, 0
    for idx in torch.randperm(len(src)).split(20):
        optimizer.zero_grad()
        per_sequence = loss_fn(net(src[idx]), tgt[idx], lens[idx])
        per_sequence.sum().backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        optimizer.step()
        total += per_sequence.sum().item()
        tokens += int(lens[idx].sum())
    if epoch % 3 == 0:
        with torch.no_grad():
            guess = net(src).argmax(2)
        mask = torch.arange(STEPS)[None, :] < lens[:, None]
        acc = (guess == tgt)[mask].float().mean().item()
        print(f"epoch {epoch:2d}  loss per token {total / tokens:.4f}  token accuracy {acc:.3f}")
