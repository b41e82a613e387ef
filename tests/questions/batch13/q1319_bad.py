import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F


class Drafter(nn.Module):
    def __init__(self, vocab=24, width=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, vocab)

    def forward(self, tokens):
        return self.head(self.rnn(self.embed(tokens))[0])


def make_batch(n, generator):
    start = torch.randint(24, (n, 1), generator=generator)
    stride = torch.randint(1, 4, (n, 1), generator=generator)
    tokens = (start + stride * torch.arange(13)) % 24
    mask = torch.arange(12)[None] < torch.randint(4, 13, (n, 1), generator=generator)
    return tokens, mask.float()


def average_gradients(model, world):
    for p in model.parameters():
        dist.all_reduce(p.grad)
        p.grad /= world


def work(rank, world, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model = Drafter()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    for step in range(121):
        batch, weights = make_batch(32, generator)
        inputs, mask = batch[rank::world], weights[rank::world]
        logits = model(inputs[:, :-1])
        each = F.cross_entropy(logits.flatten(0, 1), inputs[:, 1:].flatten(), reduction="none").view_as(mask)
        local = (each * mask).sum()
        sums = torch.stack([local.detach(), mask.sum()])
        dist.all_reduce(sums)
        tokens = sums[1]
        loss = local / tokens
        optimizer.zero_grad()
        loss.backward()
        average_gradients(model, world)
        optimizer.step()
        if rank == 0 and step % 60 == 0:
            norm = model.head.weight.grad.norm().item()
            print(
                f"{world} ranks, step {step}: loss {(sums[0] / tokens).item():.4f}  gradient {norm:.4f}",
                flush=True,
            )
    dist.destroy_process_group()


def main():
    for world in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            store = os.path.join(folder, "store")
            if world == 1:
                work(0, 1, store)
            else:
                mp.spawn(work, args=(world, store), nprocs=world)


if __name__ == "__main__":
    main()
