import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)

VOCAB, LENGTH = 10, 4


class RNNEncoder(nn.Module):
    def __init__(self, num_layers=2, hidden_size=48):
        super().__init__()
        self.num_layers = num_layers
        self.embeddings = nn.Embedding(VOCAB, 24)
        self.rnn = nn.GRU(24, hidden_size, num_layers)
        self.total_hidden_dim = hidden_size * num_layers
        self.bridge = nn.Linear(self.total_hidden_dim, self.total_hidden_dim)

    def _bridge(self, states):
        layers, batch, hidden = states.size()
        result = self.bridge(states.transpose(0, 1).reshape(batch, self.total_hidden_dim))
        return F.relu(result).view(batch, layers, hidden).transpose(0, 1).contiguous()

    def forward(self, src):
        _, states = self.rnn(self.embeddings(src))
        return self._bridge(states)


class RNNDecoder(nn.Module):
    def __init__(self, num_layers=2, hidden_size=48):
        super().__init__()
        self.embeddings = nn.Embedding(VOCAB + 1, 24)
        self.rnn = nn.GRU(24, hidden_size, num_layers)
        self.generator = nn.Linear(hidden_size, VOCAB)

    def forward(self, tgt, states):
        out, _ = self.rnn(self.embeddings(tgt), states)
        return self.generator(out)


class NMTModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = RNNEncoder()
        self.decoder = RNNDecoder()

    def forward(self, src):
        start = torch.full((1, src.size(1)), VOCAB)
        return self.decoder(torch.cat([start, src[:-1]]), self.encoder(src))


def translate(model, sentences):
    correct = 0
    with torch.no_grad():
        for sentence in sentences:
            src = sentence.unsqueeze(1)
            correct += (model(src).argmax(-1) == src).float().mean().item()
    return correct / len(sentences)


def main():
    model = NMTModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(1, 201):
        src = torch.randint(0, VOCAB, (LENGTH, 64))
        loss = F.cross_entropy(model(src).flatten(0, 1), src.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    test = torch.randint(0, VOCAB, (60, LENGTH))
    print(f"sentence by sentence: {100 * translate(model, test):.1f}% of the words")
    with torch.no_grad():
        alone = model(test[:2].t())[:, 0]
        other = model(torch.stack([test[0], test[5]], dim=1))[:, 0]
    print(f"first sentence beside another one: scores differ by {(alone - other).abs().max().item():.4f}")


if __name__ == "__main__":
    main()
