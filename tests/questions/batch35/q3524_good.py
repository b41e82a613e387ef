import io

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)
VOCAB, DIM, PAD = 30, 24, 2


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.out_embed = nn.Linear(DIM, VOCAB, bias=False)
        self.in_embed = nn.Embedding(VOCAB, DIM, PAD)
        self.in_embed.weight = self.out_embed.weight
        self.rnn = nn.GRU(DIM, DIM, batch_first=True)

    def forward(self, tokens):
        hidden, _ = self.rnn(self.in_embed(tokens))
        return self.out_embed(hidden)


def make_batch(table, size=64, length=8):
    tokens = torch.empty(size, length, dtype=torch.long)
    tokens[:, 0] = torch.randint(3, VOCAB, (size,))
    for i in range(1, length):
        tokens[:, i] = table[tokens[:, i - 1]]
    return tokens


def accuracy(model, table):
    model.eval()
    with torch.no_grad():
        tokens = make_batch(table, 256)
        guess = model(tokens[:, :-1]).argmax(-1)
    return (guess == tokens[:, 1:]).float().mean().item()


def train(table):
    model = Decoder().to(torch.float64)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(200):
        tokens = make_batch(table)
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, VOCAB), tokens[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"train loss {loss.item():.4f} accuracy {accuracy(model, table):.3f}")
    buffer = io.BytesIO()
    torch.save(model.state_dict(), buffer)
    buffer.seek(0)
    return buffer


def load(buffer):
    model = Decoder()
    model.load_state_dict(torch.load(buffer))
    return model


def main():
    table = torch.randperm(VOCAB - 3) + 3
    table = torch.cat([torch.arange(3), table])
    saved = train(table)
    model = load(saved)
    print(f"accuracy after loading {accuracy(model, table):.3f}")


main()
