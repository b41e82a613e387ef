import torch
import torch.nn as nn
import torch.nn.functional as F


class TinyLM(nn.Module):
    def __init__(self, vocab=24, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.out(self.rnn(self.embed(ids))[0])


def text(n, length=9, vocab=24):
    start = torch.randint(0, vocab, (n, 1))
    stride = torch.randint(1, 4, (n, 1))
    return (start + stride * torch.arange(length)) % vocab


def train(model, steps, grad_acc_steps, clip):
    optimizer = torch.optim.SGD(model.parameters(), lr=2.0)
    acc_step, total = 0, 0.0
    for micro in range(steps * grad_acc_steps):
        ids = text(8)
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        (loss / grad_acc_steps).backward()
        total += loss.item() / grad_acc_steps
        acc_step += 1
        if acc_step % grad_acc_steps == 0:
            norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            optimizer.zero_grad()
            if (micro + 1) % (20 * grad_acc_steps) == 0:
                print(f"step {acc_step // grad_acc_steps} loss {total:.4f} grad norm {norm.item():.3f}")
            total = 0.0


torch.manual_seed(0)
train(TinyLM(), steps=120, grad_acc_steps=4, clip=0.1)
