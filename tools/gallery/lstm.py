"""An LSTM cell over twenty steps of a text."""

import torch
import torch.nn.functional as F
from torch import nn


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(30, 16)
        self.cell = nn.LSTMCell(16, 24)
        self.head = nn.Linear(24, 30)

    def forward(self, x):
        hidden = x.new_zeros(len(x), 24, dtype=torch.float32)
        memory = torch.zeros_like(hidden)
        logits = []
        for t in range(x.shape[1]):
            hidden, memory = self.cell(self.words(x[:, t]), (hidden, memory))
            logits.append(self.head(hidden))
        return torch.stack(logits, 1)


torch.manual_seed(0)
model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(3):
    text = torch.randint(0, 30, (4, 21))
    x, target = text[:, :-1], text[:, 1:]
    loss = F.cross_entropy(model(x).flatten(0, 1), target.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
