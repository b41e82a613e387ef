import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(8)

PAD, START, WORDS, LENGTH = 0, 1, 20, 24


def make_batch(size):
    color = torch.rand(size, 3)
    shade = 2 + (color * 2.999).long() * 2 + torch.arange(3) * 6
    text = torch.full((size, LENGTH), PAD)
    count = torch.randint(1, 4, (size,))
    for i in range(3):
        text[:, i] = torch.where(i < count, shade[:, i], PAD)
    return color, text


class Describer(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.embed = nn.Embedding(WORDS, hidden)
        self.color = nn.Linear(3, hidden)
        self.rnn = nn.GRU(hidden, hidden, batch_first=True)
        self.out = nn.Linear(hidden, WORDS)

    def forward(self, color, words):
        h0 = torch.tanh(self.color(color)).unsqueeze(0)
        output, _ = self.rnn(self.embed(words), h0)
        return self.out(output)


model = Describer()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(121):
    color, text = make_batch(64)
    previous = torch.cat([torch.full((64, 1), START), text[:, :-1]], 1)
    logits = model(color, previous)
    loss = F.cross_entropy(logits.flatten(0, 1), text.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        accuracy = (logits.argmax(2) == text).float().mean().item()
        print(f"step {step} loss {loss.item():.3f} accuracy {accuracy:.3f}")

words = text != PAD
print("first descriptions", logits.argmax(2)[:4, :4].tolist())
print(f"words right {(logits.argmax(2) == text)[words].float().mean().item():.3f}")
