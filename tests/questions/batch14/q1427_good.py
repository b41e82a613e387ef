import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, LENGTH, PAD, EOS, FIRST = 30, 24, 0, 1, 2


class LabelSmoothingLoss(nn.Module):
    def __init__(self, smoothing, classes):
        super().__init__()
        self.smoothing, self.classes = smoothing, classes

    def forward(self, pred, target):
        pred = pred.log_softmax(dim=-1)
        with torch.no_grad():
            true_dist = torch.full_like(pred, self.smoothing / (self.classes - 1))
            true_dist.scatter_(-1, target.unsqueeze(-1), 1.0 - self.smoothing)
        return torch.mean(torch.sum(-true_dist * pred, dim=-1))


class Summarizer(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.embeddings = nn.Embedding(VOCAB, width, padding_idx=PAD)
        self.encoder = nn.GRU(width, width, batch_first=True)
        self.decoder = nn.GRU(width, width, batch_first=True)
        self.linear = nn.Linear(width, VOCAB)
        self.loss = LabelSmoothingLoss(0.1, VOCAB)

    def forward(self, src, tgt):
        _, state = self.encoder(self.embeddings(src))
        start = torch.full_like(tgt[:, :1], EOS)
        dec, _ = self.decoder(self.embeddings(torch.cat([start, tgt[:, :-1]], dim=1)), state)
        return self.linear(dec)

    def training_step(self, src, tgt):
        pred = self(src, tgt)
        return self.loss(pred[tgt != PAD], tgt[tgt != PAD])


def make_batch(n, generator):
    """The summary: the marked words (second half of the vocabulary) in their order, then EOS, padded."""
    src = torch.randint(FIRST, VOCAB // 2, (n, 8), generator=generator)
    tgt = torch.full((n, LENGTH), PAD)
    for row in range(n):
        count = int(torch.randint(1, 4, (1,), generator=generator))
        where = torch.randperm(8, generator=generator)[:count].sort().values
        words = torch.randint(VOCAB // 2, VOCAB, (count,), generator=generator)
        src[row, where] = words
        tgt[row, :count], tgt[row, count] = words, EOS
    return src, tgt


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    train = make_batch(2000, generator)
    src, tgt = make_batch(400, generator)
    model = Summarizer()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    for step in range(240):
        rows = torch.randint(0, 2000, (32,), generator=generator)
        loss = model.training_step(train[0][rows], train[1][rows])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 48 == 47:
            with torch.no_grad():
                logits = model(src, tgt)
            real = tgt != PAD
            hits = (logits.argmax(-1) == tgt).float()
            nll = F.cross_entropy(logits[real], tgt[real]).item()
            print(
                f"step {step}: loss {loss.item():.3f}, words right {hits[real].mean().item():.3f} "
                f"(nll {nll:.3f}), padding right {hits[~real].mean().item():.3f}"
            )


if __name__ == "__main__":
    main()
