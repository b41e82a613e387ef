import numpy as np
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(6)
rng = np.random.default_rng(6)

PHONES, MELS, DIM = 40, 16, 48
base_duration = rng.integers(2, 9, size=PHONES + 1)
shape = torch.from_numpy(rng.normal(size=(PHONES + 1, MELS)).astype(np.float32))


def utterance():
    text = rng.integers(1, PHONES + 1, size=rng.integers(8, 20))
    dur = np.maximum(base_duration[text] + rng.integers(-1, 2, size=len(text)), 1)
    dur[rng.random(len(text)) < 0.001] = 0
    text, dur = torch.from_numpy(text), torch.from_numpy(dur)
    mel = shape[text].repeat_interleave(dur, dim=0)
    return text, dur, mel + 0.1 * torch.randn_like(mel)


class MaskedLoss(nn.Module):
    def __init__(self, loss):
        super().__init__()
        self.loss = loss()

    def forward(self, prediction, target, mask):
        return self.loss(prediction.masked_select(mask), target.masked_select(mask))


class ConvBlock(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv1d(cin, cout, 3, padding=1)
        self.norm = nn.LayerNorm(cout)

    def forward(self, x):
        return self.norm(torch.relu(self.conv(x.transpose(1, 2)).transpose(1, 2)))


class FastSpeech(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(PHONES + 1, DIM, padding_idx=0)
        self.encoder = ConvBlock(DIM, DIM)
        self.duration_predictor = nn.Sequential(ConvBlock(DIM, DIM), nn.Linear(DIM, 1))
        self.decoder = nn.Sequential(ConvBlock(DIM, DIM), nn.Linear(DIM, MELS))

    def forward(self, text, durations=None):
        h = self.encoder(self.embed(text))
        log_duration = self.duration_predictor(h).squeeze(-1)
        if durations is None:
            durations = torch.round(torch.exp(log_duration)).long() * (text != 0)
        frames = [x.repeat_interleave(d, dim=0) for x, d in zip(h, durations)]
        return self.decoder(pad_sequence(frames, batch_first=True)), log_duration


def collate(items):
    text, dur, mel = zip(*items)
    lengths = torch.tensor([len(m) for m in mel])
    mel_mask = torch.arange(int(lengths.max()))[None] < lengths[:, None]
    return (pad_sequence(text, batch_first=True), pad_sequence(dur, batch_first=True),
            pad_sequence(mel, batch_first=True), mel_mask.unsqueeze(-1))


train = [utterance() for _ in range(640)]
valid = [utterance() for _ in range(32)]
model = FastSpeech()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
mse, l1 = MaskedLoss(nn.MSELoss), MaskedLoss(nn.L1Loss)

for epoch in range(6):
    order = rng.permutation(len(train))
    sums = np.zeros(2)
    for i in range(0, len(order), 16):
        text, dur, mel, mel_mask = collate([train[j] for j in order[i:i + 16]])
        mel_prediction, log_duration = model(text, dur)
        duration_loss = mse(log_duration, torch.log(dur.float()), text != 0)
        mel_loss = l1(mel_prediction, mel, mel_mask)
        optimizer.zero_grad()
        (duration_loss + mel_loss).backward()
        optimizer.step()
        sums += duration_loss.item(), mel_loss.item()
        if epoch == 0 and i // 16 in (0, 3, 6):
            print(f"step {i // 16} duration loss {duration_loss.item():.4f} mel loss {mel_loss.item():.4f}")
    print(f"epoch {epoch + 1} duration loss {sums[0] / 40:.4f} mel loss {sums[1] / 40:.4f}")

model.eval()
text, dur, mel, mel_mask = collate(valid)
with torch.no_grad():
    _, log_duration = model(text, dur)
    frames = torch.round(torch.exp(log_duration))[text != 0]
print(f"frames predicted {frames.sum().item():.0f} of {dur.sum().item()}, "
      f"mean error per phone {(frames - dur[text != 0]).abs().mean().item():.3f}")
