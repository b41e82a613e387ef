import torch
import torch.nn as nn

torch.manual_seed(4)
torch.set_num_threads(1)

VOCAB, LENGTH, DIM = 40, 24, 64
shift = torch.randperm(VOCAB)


def make_batch(n):
    src = torch.randint(0, VOCAB, (n, LENGTH))
    return src, shift[(src + src.roll(1, dims=1)) % VOCAB]


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.mix = nn.Conv1d(DIM, 2 * DIM, kernel_size=3, padding=1, padding_mode="circular")
        self.out = nn.Linear(2 * DIM, DIM)

    def forward(self, x):
        h = self.mix(self.embed(x).transpose(1, 2)).relu().transpose(1, 2)
        return self.out(h)


class ChunkedLossCompute:
    def __init__(self, generator, criterion, opt=None, chunk_size=6):
        self.generator = generator
        self.criterion = criterion
        self.opt = opt
        self.chunk_size = chunk_size

    def __call__(self, out, targets, normalize):
        total = 0.0
        grads = []
        for i in range(0, out.size(1), self.chunk_size):
            column = out[:, i:i + self.chunk_size].detach()
            column.requires_grad_(self.opt is not None)
            scores = self.generator(column)
            piece = targets[:, i:i + self.chunk_size]
            l = self.criterion(scores.reshape(-1, VOCAB), piece.reshape(-1))
            l = l.sum().item() / normalize.float()
            total += l.item()
            if self.opt is not None:
                l.backward()
                grads.append(column.grad.clone())
        if self.opt is not None:
            out.backward(gradient=torch.cat(grads, dim=1))
            self.opt.step()
            self.opt.zero_grad()
        return total


encoder = Encoder()
generator = nn.Sequential(nn.ReLU(), nn.Linear(DIM, VOCAB))
criterion = nn.CrossEntropyLoss(reduction="none")
params = list(encoder.parameters()) + list(generator.parameters())
optimizer = torch.optim.Adam(params, lr=2e-3)
train_loss = ChunkedLossCompute(generator, criterion, optimizer)
eval_loss = ChunkedLossCompute(generator, criterion)

for step in range(600):
    src, tgt = make_batch(64)
    loss = train_loss(encoder(src), tgt, torch.tensor(tgt.numel()))
    if step % 100 == 99:
        print(f"step {step + 1}  loss {loss:.4f}")

with torch.no_grad():
    src, tgt = make_batch(256)
    hidden = encoder(src)
    accuracy = (generator(hidden).argmax(-1) == tgt).float().mean().item()
    print(f"held-out loss {eval_loss(hidden, tgt, torch.tensor(tgt.numel())):.4f}  accuracy {accuracy:.3f}")
