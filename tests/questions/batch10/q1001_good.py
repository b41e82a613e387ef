import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
N_PHONES, N_MELS, FRAMES = 11, 20, 48


class PhonemeAligner(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(N_MELS, hidden, 5, padding=2), nn.ReLU(),
            nn.Conv1d(hidden, hidden, 5, padding=2), nn.ReLU(),
        )
        self.ph_head = nn.Linear(hidden, N_PHONES)

    def forward(self, mel):
        h = self.conv(mel.transpose(1, 2)).transpose(1, 2)
        return self.ph_head(h)


prototypes = torch.randn(N_PHONES, N_MELS)


def make_batch(n=16, length=6):
    phones = torch.randint(1, N_PHONES, (n, length))
    mel = prototypes[phones].repeat_interleave(FRAMES // length, dim=1)
    return mel + 0.3 * torch.randn_like(mel), phones


def ctc_phoneme_loss(ph_frame_logits, phones):
    n, t, _ = ph_frame_logits.shape
    frame_lengths = torch.full((n,), t, dtype=torch.long)
    phone_lengths = torch.full((n,), phones.shape[1], dtype=torch.long)
    return F.ctc_loss(ph_frame_logits.log_softmax(-1).transpose(0, 1), phones, frame_lengths,
                      phone_lengths, blank=0, zero_infinity=True)


def greedy(logits):
    out = []
    for row in logits.argmax(-1).tolist():
        seq = [p for i, p in enumerate(row) if p != 0 and (i == 0 or row[i - 1] != p)]
        out.append(seq)
    return out


model = PhonemeAligner()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for step in range(150):
    mel, phones = make_batch()
    ph_frame_logits = model(mel)
    ph_ctc_loss = ctc_phoneme_loss(ph_frame_logits, phones)
    optimizer.zero_grad()
    ph_ctc_loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step:4d}  ph_ctc_loss {ph_ctc_loss.item():9.3f}")

model.eval()
with torch.no_grad():
    mel, phones = make_batch(64)
    lens = [len(s) for s in greedy(model(mel))]
    hits = sum(len(set(s) & set(p)) / len(set(p)) for s, p in zip(greedy(model(mel)), phones.tolist()))
print(f"mean decoded length {sum(lens) / len(lens):.1f} (true 6), phones found {hits / 64:.2f}, loss {ph_ctc_loss.item():.3f}")
