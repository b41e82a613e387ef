import torch
from torch import nn

torch.manual_seed(0)


class AttentionMIL(nn.Module):
    def __init__(self, dim=16, hidden=32, classes=2):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU())
        self.attention = nn.Sequential(nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1))
        self.head = nn.Linear(hidden, classes)

    def masked_softmax(self, scores, mask):
        scores = scores.masked_fill(mask == 0, float("-inf"))
        return torch.softmax(scores, dim=1)

    def forward(self, bags, lens):
        mask = (torch.arange(bags.size(1)) < lens.unsqueeze(1)).float()
        embeddings = self.encoder(bags)
        scores = self.attention(embeddings).squeeze(-1)
        weights = self.masked_softmax(scores, mask)
        self.padded_weight = (weights * (1 - mask)).sum(1).mean().item()
        return self.head((weights.unsqueeze(-1) * embeddings).sum(1))


class BagDataset:
    def __init__(self, shift, n=600, dim=16, longest=40):
        self.lens = torch.randint(2, longest + 1, (n,))
        self.labels = torch.randint(0, 2, (n,))
        content = torch.randn(n, longest, dim)
        key = self.labels.view(-1, 1) * (torch.rand(n, longest) < 0.15)
        key[:, 0] = self.labels
        content += key.unsqueeze(-1) * shift
        within = torch.arange(longest) < self.lens.unsqueeze(1)
        self.bags = torch.where(within.unsqueeze(-1), content, content.roll(1, dims=0))

    def batches(self, size=50):
        for index in torch.randperm(len(self.labels)).split(size):
            yield self.bags[index], self.lens[index], self.labels[index]


def main():
    shift = 1.5 * torch.randn(16)
    data, test = BagDataset(shift), BagDataset(shift)
    model = AttentionMIL()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(1, 13):
        total = correct = 0.0
        for bags, lens, labels in data.batches():
            logits = model(bags, lens)
            loss = criterion(logits, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            correct += (logits.argmax(1) == labels).sum().item()
        if epoch % 4 == 0:
            with torch.no_grad():
                hits = (model(test.bags, test.lens).argmax(1) == test.labels).float().mean().item()
            print(
                f"epoch {epoch}: loss {total / 12:.4f} accuracy {correct / 600:.3f} new bags {hits:.3f}"
                f" weight beyond the bags {model.padded_weight:.3f}"
            )
    with torch.no_grad():
        within = (torch.arange(40) < test.lens.unsqueeze(1)).unsqueeze(-1)
        other = torch.where(within, test.bags, data.bags)
        change = (model(test.bags, test.lens) - model(other, test.lens)).abs().max().item()
    print(f"same bags with other padding: scores differ by {change:.4f}")


if __name__ == "__main__":
    main()
