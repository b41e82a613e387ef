import torch
import torch.nn as nn
import torch.nn.functional as F

WORDS = 8
START = WORDS


class Encoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embed = nn.Embedding(WORDS, 32)
        self.rnn = nn.GRU(32, width, batch_first=True)

    def forward(self, source):
        return self.rnn(self.embed(source))[1][0]


class Decoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embed = nn.Embedding(WORDS + 1, 32)
        self.rnn = nn.GRUCell(32, width)

    def forward(self, words, hidden):
        outputs = []
        for emb_t in self.embed(words).unbind(1):
            hidden = self.rnn(emb_t, hidden)
            outputs.append(hidden)
        return torch.stack(outputs, 1)


class Translator(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.encoder = Encoder(width)
        self.decoder = Decoder(width)
        self.generator = nn.Linear(width, WORDS)

    def forward(self, source, target):
        start = torch.full((len(source), 1), START)
        shifted = torch.cat([start, target[:, :-1]], 1)
        return self.generator(self.decoder(shifted, self.encoder(source)))


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model = Translator()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(301):
        source = torch.randint(0, WORDS, (64, 6), generator=generator)
        target = source.flip(1)
        logits = model(source, target)
        loss = F.cross_entropy(logits.flatten(0, 1), target.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 60 == 0:
            right = (logits.argmax(-1) == target).float().mean().item()
            print(f"step {step}: perplexity {loss.exp().item():.3f}  words right {right:.3f}")


if __name__ == "__main__":
    main()
