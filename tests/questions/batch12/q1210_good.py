import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 40


class MergeLayer(nn.Module):
    """Runs several layers on the same input and joins what they give."""

    def __init__(self, layers, dim=1):
        super().__init__()
        self._dim = dim
        self._layers = nn.ModuleList()
        for layer in layers:
            self._layers.append(layer)

    def forward(self, x):
        return torch.cat([layer(x) for layer in self._layers], dim=self._dim)


class ConvClassifier(nn.Module):
    def __init__(self, dim=16, channels=24, kernels=(2, 3, 4)):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        branches = [
            nn.Sequential(nn.Conv1d(dim, channels, k), nn.ReLU(), nn.AdaptiveMaxPool1d(1), nn.Flatten()) for k in kernels
        ]
        self.merge = MergeLayer(branches)
        self.out = nn.Linear(channels * len(kernels), 2)

    def forward(self, ids):
        x = self.embed(ids).transpose(1, 2)
        return self.out(self.merge(x))


def make_data(n, seed):
    g = torch.Generator().manual_seed(seed)
    ids = torch.randint(VOCAB, (n, 20), generator=g)
    y = torch.randint(2, (n,), generator=g)
    start = torch.randint(17, (n,), generator=g)
    phrase = torch.tensor([3, 11, 7])
    for i in range(n):
        order = phrase if y[i] == 1 else phrase.flip(0)
        ids[i, start[i] : start[i] + 3] = order
    return ids, y


def main():
    torch.manual_seed(0)
    ids, y = make_data(1500, 0)
    test_ids, test_y = make_data(600, 1)
    model = ConvClassifier()
    before = [p.clone() for p in model.merge._layers[1].parameters()]
    print("trainable parameters:", sum(p.numel() for p in model.parameters()))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(8):
        total = 0.0
        for rows in torch.randperm(len(ids)).split(50):
            loss = F.cross_entropy(model(ids[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows)
        with torch.no_grad():
            acc = (model(test_ids).argmax(1) == test_y).float().mean()
        print(f"epoch {epoch}: loss {total / len(ids):.4f}  test accuracy {acc:.3f}")
    after = model.merge._layers[1].parameters()
    print("change of a branch:", max((a - b).abs().max().item() for a, b in zip(after, before)))


if __name__ == "__main__":
    main()
