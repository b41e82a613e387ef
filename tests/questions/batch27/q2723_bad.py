import torch
import torch.nn as nn
from torch.nn.utils import rnn

torch.set_num_threads(1)
torch.manual_seed(1)

HORIZON = 4


def make_series(n):
    t = torch.arange(n).float()
    phase = torch.rand(1) * 6.28
    return 3 + torch.sin(2 * 3.1416 * t / 12 + phase) + 0.3 * torch.randn(n)


def make_batch(bsz=32):
    lengths = torch.randint(14, 25, (bsz,))
    past, future = [], []
    for n in lengths.tolist():
        s = make_series(n + HORIZON)
        past.append(s[:n])
        future.append(s[n:])
    encoder_target = rnn.pack_sequence(past, enforce_sorted=False)
    target = rnn.pack_sequence(future, enforce_sorted=False)
    return encoder_target, target


def unpack_sequence(sequence):
    return rnn.pad_packed_sequence(sequence, batch_first=True)


class MASE:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def update(self, y_pred, target, encoder_target):
        y_true, lengths = unpack_sequence(target)
        encoder_target, encoder_lengths = unpack_sequence(target)
        scaling = self.calculate_scaling(y_true, lengths, encoder_target, encoder_lengths)
        losses = (y_pred - y_true).abs() / scaling.unsqueeze(-1)
        self.total += losses.sum().item()
        self.count += losses.numel()

    @staticmethod
    def calculate_scaling(target, lengths, encoder_target, encoder_lengths):
        scale = []
        for i in range(target.size(0)):
            y = torch.cat([encoder_target[i, :encoder_lengths[i]], target[i, :lengths[i]]])
            scale.append((y[1:] - y[:-1]).abs().mean() + 1e-6)
        return torch.stack(scale)

    def compute(self):
        return self.total / self.count


class Forecaster(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.gru = nn.GRU(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, HORIZON)

    def forward(self, packed):
        packed = rnn.PackedSequence(packed.data.unsqueeze(-1), packed.batch_sizes,
                                    packed.sorted_indices, packed.unsorted_indices)
        _, h = self.gru(packed)
        return self.head(h[-1])


model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
mae = nn.L1Loss()
for epoch in range(6):
    model.train()
    total = 0.0
    for _ in range(25):
        enc, tgt = make_batch()
        y, _ = unpack_sequence(tgt)
        optimizer.zero_grad()
        loss = mae(model(enc), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    metric, val_mae = MASE(), 0.0
    with torch.no_grad():
        for _ in range(8):
            enc, tgt = make_batch()
            out = model(enc)
            metric.update(out, tgt, enc)
            val_mae += mae(out, unpack_sequence(tgt)[0]).item()
    print(f'epoch {epoch} train MAE {total / 25:.3f} | val MAE {val_mae / 8:.3f} val MASE {metric.compute():.3f}')
