import torch
import torch.nn as nn
from torch.nn import functional

torch.set_num_threads(1)
torch.manual_seed(0)

N_MEL, MAX_TEXT = 8, 6
char_dur = torch.randint(3, 7, (10,))
char_mel = torch.randn(10, N_MEL)


def make_item():
    text = torch.randint(0, 10, (int(torch.randint(2, MAX_TEXT + 1, (1,))),))
    mel = char_mel[text].repeat_interleave(char_dur[text], dim=0)
    return text, mel + 0.05 * torch.randn_like(mel)


def collate(n=24):
    items = [make_item() for _ in range(n)]
    mel_len = torch.tensor([m.size(0) for _, m in items])
    text = torch.full((n, MAX_TEXT), 10)
    mel = torch.zeros(n, int(mel_len.max()), N_MEL)
    stop = torch.zeros(n, int(mel_len.max()), 1)
    for i, (t, m) in enumerate(items):
        text[i, :len(t)] = t
        mel[i, :len(m)] = m
        stop[i, len(m) - 1:] = 1.0
    return text, mel, stop, mel_len


def sequence_mask(length, max_len):
    return torch.arange(max_len)[None, :] < length[:, None]


class BCELossMasked(nn.Module):
    def __init__(self, pos_weight=None):
        super().__init__()
        self.pos_weight = pos_weight

    def forward(self, x, target, length):
        loss = functional.binary_cross_entropy_with_logits(x, target, pos_weight=self.pos_weight, reduction='sum')
        return loss / target.numel()


class L1LossMasked(nn.Module):
    def forward(self, x, target, length):
        mask = sequence_mask(length, target.size(1)).unsqueeze(2).float()
        return functional.l1_loss(x * mask, target * mask, reduction='sum') / (mask.sum() * target.size(2))


class TinyTTS(nn.Module):
    def __init__(self, d=48):
        super().__init__()
        self.emb = nn.Embedding(11, d)
        self.encoder = nn.GRU(d, d, batch_first=True)
        self.decoder = nn.GRU(N_MEL + d, d, batch_first=True)
        self.mel_proj = nn.Linear(d, N_MEL)
        self.stopnet = nn.Linear(d, 1)

    def forward(self, text, mel):
        _, h = self.encoder(self.emb(text))
        prev = functional.pad(mel, (0, 0, 1, 0))[:, :-1]
        cond = h[-1].unsqueeze(1).expand(-1, mel.size(1), -1)
        out, _ = self.decoder(torch.cat([prev, cond], dim=2), h)
        return self.mel_proj(out), self.stopnet(out)


model = TinyTTS()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
mel_loss_fn, stop_loss_fn = L1LossMasked(), BCELossMasked()

for step in range(1, 121):
    text, mel, stop, mel_len = collate()
    mel_out, stop_out = model(text, mel)
    mel_loss = mel_loss_fn(mel_out, mel, mel_len)
    stop_loss = stop_loss_fn(stop_out, stop, mel_len)
    loss = mel_loss + stop_loss
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 20 == 0:
        with torch.no_grad():
            text, mel, stop, mel_len = collate(64)
            prob = torch.sigmoid(model(text, mel)[1]).squeeze(2)
            after_end = ~sequence_mask(mel_len, mel.size(1))
            stopped = (prob > 0.5).any(1).float().mean().item()
        print(f'step {step} mel_loss {mel_loss.item():.4f} stop_loss {stop_loss.item():.4f} '
              f'| utterances that stop {stopped:.2f} mean stop prob after the end {prob[after_end].mean().item():.3f}')
