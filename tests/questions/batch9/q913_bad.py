"""Slot filling, step by step with an LSTM decoder: the tag of a word depends on the last opener before it."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

VOCAB, TAGS, MAX_LEN = 30, 5, 12


class SlotDecoder(nn.Module):
    def __init__(self, embed=24, hidden=64):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, embed)
        self.lstm = nn.LSTM(embed, hidden, num_layers=1)
        self.fc = nn.Linear(hidden, TAGS)

    def forward(self, words):
        x = self.embedding(words)
        x = x.transpose(0, 1)
        state = None
        outputs = []
        for step in x:
            out, state = self.lstm(step.unsqueeze(1), state)
            outputs.append(out)
        return self.fc(torch.cat(outputs, dim=1))


def make_batch(n):
    words = torch.randint(TAGS, VOCAB, (n, MAX_LEN))
    openers = torch.randint(1, TAGS, (n, MAX_LEN))
    words = torch.where(torch.rand(n, MAX_LEN) < 0.25, openers, words)
    slots = torch.zeros(n, MAX_LEN, dtype=torch.long)
    current = torch.zeros(n, dtype=torch.long)
    for t in range(MAX_LEN):
        is_opener = words[:, t] < TAGS
        current = torch.where(is_opener, words[:, t], current)
        slots[:, t] = current
    return words, slots


model = SlotDecoder()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for it in range(90):
    words, slots = make_batch(32)
    scores = model(words)
    loss = F.cross_entropy(scores.reshape(-1, TAGS), slots.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    if it % 30 == 29:
        with torch.no_grad():
            words, slots = make_batch(128)
            acc = (model(words).argmax(-1) == slots).float().mean().item()
        print(f"iter {it}: loss {loss.item():.4f} slot acc {acc:.3f}")
