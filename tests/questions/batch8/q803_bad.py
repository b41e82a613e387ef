import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self, dimensions):
        super().__init__()
        self.linear_in = nn.Linear(dimensions, dimensions, bias=False)
        self.linear_out = nn.Linear(2 * dimensions, dimensions, bias=False)
        self.softmax = nn.Softmax(dim=0)

    def forward(self, query, context):
        batch_size, output_len, dimensions = query.size()
        query_len = context.size(1)
        projected = self.linear_in(query.reshape(-1, dimensions)).view(batch_size, output_len, dimensions)
        scores = torch.bmm(projected, context.transpose(1, 2))
        weights = self.softmax(scores.view(batch_size * output_len, query_len))
        weights = weights.view(batch_size, output_len, query_len)
        mix = torch.bmm(weights, context)
        output = torch.tanh(self.linear_out(torch.cat((mix, query), dim=2)))
        return output, weights


class Lookup(nn.Module):
    def __init__(self, keys=10, values=6, dim=32):
        super().__init__()
        self.key = nn.Embedding(keys, dim)
        self.value = nn.Embedding(values, dim)
        self.attention = Attention(dim)
        self.out = nn.Linear(dim, values)

    def forward(self, asked, keys, values):
        context = self.key(keys) + self.value(values)
        output, weights = self.attention(self.key(asked).unsqueeze(1), context)
        return self.out(output.squeeze(1)), weights


def sample(pairs=6):
    keys = torch.randperm(10)[:pairs].unsqueeze(0)
    values = torch.randint(0, 6, (1, pairs))
    place = int(torch.randint(0, pairs, ()))
    return keys[:, place], keys, values, values[:, place]


def main():
    model = Lookup()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    right, seen = 0, 0
    for step in range(1, 4001):
        asked, keys, values, answer = sample()
        logits, weights = model(asked, keys, values)
        loss = F.cross_entropy(logits, answer)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right += int((logits.argmax(1) == answer).sum())
        seen += 1
        if step % 1000 == 0:
            print(f"step {step}: accuracy {right / seen:.2f} weights {weights[0, 0].tolist()}")
            right, seen = 0, 0


if __name__ == "__main__":
    main()
