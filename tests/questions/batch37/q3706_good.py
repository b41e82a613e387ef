import torch
import torch.nn as nn

torch.manual_seed(4)


class SmallLM(nn.Module):
    def __init__(self, vocab=20, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.generator = nn.Linear(dim, vocab)

    def forward(self, src):
        return self.rnn(self.embed(src))[0]


class SimpleLossCompute:
    def __init__(self, generator, criterion, opt=None):
        self.generator = generator
        self.criterion = criterion
        self.opt = opt

    def __call__(self, x, y, norm):
        x = self.generator(x)
        loss = self.criterion(x.reshape(-1, x.size(-1)), y.reshape(-1)) / norm
        if self.opt is not None:
            loss.backward()
            self.opt.step()
            self.opt.zero_grad()
        return loss.item() * norm


def data_gen(n_batches, seed):
    g = torch.Generator().manual_seed(seed)
    for _ in range(n_batches):
        start = torch.randint(0, 20, (16, 1), generator=g)
        step = torch.randint(1, 4, (16, 1), generator=g)
        seq = (start + step * torch.arange(11)) % 20
        yield seq[:, :-1], seq[:, 1:]


def run_epoch(data, model, loss_compute):
    total, tokens = 0.0, 0
    for src, trg in data:
        out = model(src)
        norm = trg.numel()
        loss = loss_compute(out, trg, norm)
        total += loss
        tokens += norm
    return total / tokens


model = SmallLM()
criterion = nn.CrossEntropyLoss(reduction="sum")
opt = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
for epoch in range(12):
    model.train()
    train = run_epoch(data_gen(20, epoch), model, SimpleLossCompute(model.generator, criterion, opt))
    model.eval()
    with torch.no_grad():
        valid = run_epoch(data_gen(60, 1000), model, SimpleLossCompute(model.generator, criterion))
    print(f"epoch {epoch} train loss {train:.4f} valid loss {valid:.4f}")
