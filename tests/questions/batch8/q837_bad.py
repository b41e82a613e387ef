import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

torch.manual_seed(0)


class PackedLSTM(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.rnn = nn.LSTM(d_in, d_out, batch_first=True)

    def forward(self, inputs, lengths):
        lens, indices = torch.sort(lengths, descending=True)
        outputs, (h, c) = self.rnn(pack_padded_sequence(inputs[indices], lens, batch_first=True))
        outputs = pad_packed_sequence(outputs, batch_first=True)[0]
        _, _indices = torch.sort(indices)
        outputs = outputs[_indices]
        h, c = h[:, _indices, :], h[:, _indices, :]
        return outputs, (h, c)


class Counter(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.embed = nn.Embedding(6, 12)
        self.encoder = PackedLSTM(12, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, tokens, lengths):
        _, (_, c) = self.encoder(self.embed(tokens), lengths)
        return self.out(c[0]).squeeze(1)


def make_batch(n=32, longest=30):
    lengths = torch.randint(5, longest + 1, (n,))
    lengths[0] = longest
    tokens = torch.randint(1, 6, (n, longest))
    tokens = tokens.masked_fill(torch.arange(longest) >= lengths.unsqueeze(1), 0)
    return tokens, lengths, (tokens == 1).sum(dim=1).float()


def main():
    model = Counter()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(1, 301):
        tokens, lengths, count = make_batch()
        predicted = model(tokens, lengths)
        loss = F.mse_loss(predicted, count)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 100 == 0:
            print(
                f"step {step}: loss {loss.item():.4f} counted right {(predicted.round() == count).float().mean():.2f}"
            )


if __name__ == "__main__":
    main()
