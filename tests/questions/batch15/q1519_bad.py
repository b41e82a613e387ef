import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_

KEYS, BINS = 8, 24


class OnsetsAndFrames(nn.Module):
    def __init__(self, model_size=40):
        super().__init__()
        self.onset_stack = nn.Sequential(
            nn.Linear(3 * BINS, model_size), nn.ReLU(), nn.Linear(model_size, KEYS)
        )
        self.frame_rnn = nn.LSTM(BINS + KEYS, model_size, batch_first=True)
        self.frame_fc = nn.Linear(model_size, KEYS)

    def forward(self, mel):
        before, after = F.pad(mel, (0, 0, 1, 0))[:, :-1], F.pad(mel, (0, 0, 0, 1))[:, 1:]
        onset = self.onset_stack(torch.cat([before, mel, after], dim=2))
        hidden, _ = self.frame_rnn(torch.cat([mel, torch.sigmoid(onset).detach()], dim=2))
        return onset, self.frame_fc(hidden)


def make_recordings(n, templates, frames=30, loud=0.0):
    on = torch.rand(n, frames, KEYS) < 0.06
    frame = torch.zeros(n, frames, KEYS)
    for t in range(frames):
        held = frame[:, t - 1] * (torch.rand(n, KEYS) < 0.8) if t else 0.0
        frame[:, t] = torch.maximum(on[:, t].float(), torch.as_tensor(held))
    mel = frame @ templates + 2.5 * on.float() @ templates + 0.3 * torch.randn(n, frames, BINS)
    mel[torch.rand(n) < loud] *= 40.0
    return mel, on.float(), frame


def f1(logits, label):
    pred = logits > 0
    hit = (pred & (label > 0)).sum()
    return (2 * hit / (pred.sum() + label.sum())).item()


def train(clip_gradient_norm=0.5):
    torch.manual_seed(0)
    templates = torch.rand(KEYS, BINS) * (torch.rand(KEYS, BINS) < 0.4)
    validation = make_recordings(60, templates)
    model = OnsetsAndFrames()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    largest = 0.0
    for i in range(1, 351):
        mel, onset_label, frame_label = make_recordings(8, templates, loud=0.02)
        onset, frame = model(mel)
        loss = F.binary_cross_entropy_with_logits(onset, onset_label)
        loss = loss + F.binary_cross_entropy_with_logits(frame, frame_label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        clip_grad_norm_(model.parameters(), clip_gradient_norm)
        seen = [optimizer.state[p]["exp_avg_sq"].max().item() for p in model.parameters()]
        largest = max(largest, math.sqrt(max(seen)))
        if i % 70 == 0:
            with torch.no_grad():
                onset, frame = model(validation[0])
            print(
                f"iteration {i}: onset f1 {f1(onset, validation[1]):.3f}  frame f1 {f1(frame, validation[2]):.3f}  "
                f"root of Adam's largest second moment so far {largest:.3f}"
            )


if __name__ == "__main__":
    train()
