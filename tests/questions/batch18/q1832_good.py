import argparse

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
n_units, n_mels, n_frames = 6, 10, 24
templates = torch.randn(n_units + 1, n_mels)


def load_batch(n=8):
    unit = torch.randint(1, n_units + 1, (n, n_frames // 4))
    frames = templates[unit.repeat_interleave(4, dim=1)] + 0.7 * torch.randn(n, n_frames, n_mels)
    return frames, unit.repeat_interleave(4, dim=1)


class Speech2Text(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.GRU(n_mels, 32, batch_first=True, bidirectional=True)
        self.output = nn.Linear(64, n_units + 1)

    def forward(self, xs, ys):
        eouts, _ = self.enc(xs)
        logits = self.output(eouts)
        loss = F.cross_entropy(logits.flatten(0, 1), ys.flatten())
        return loss, (logits.argmax(-1) == ys).float().mean().item()


def train(args, updates=60):
    torch.manual_seed(1)
    model = Speech2Text()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    accum_n_steps, n_steps = 0, 0
    grad_norms = []
    optimizer.zero_grad()
    while n_steps < updates:
        xs, ys = load_batch(args.batch_size)
        loss, acc = model(xs, ys)
        accum_n_steps += 1
        (loss / args.accum_grad_n_steps).backward()
        if accum_n_steps >= args.accum_grad_n_steps:
            norm = torch.cat([p.grad.flatten() for p in model.parameters()]).norm().item()
            grad_norms.append(norm)
            optimizer.step()
            optimizer.zero_grad()
            accum_n_steps = 0
            n_steps += 1
    with torch.no_grad():
        loss, acc = model(*load_batch(256))
    return grad_norms[0], loss.item(), acc


for batch_size, accum_grad_n_steps in ((64, 1), (16, 4), (4, 16)):
    args = argparse.Namespace(lr=0.3, batch_size=batch_size, accum_grad_n_steps=accum_grad_n_steps)
    grad_norm, loss, acc = train(args)
    print(
        f"batch_size {batch_size} x accum_grad_n_steps {accum_grad_n_steps}: "
        f"first gradient norm {grad_norm:.3f}  loss {loss:.3f}  acc {acc:.3f}"
    )
