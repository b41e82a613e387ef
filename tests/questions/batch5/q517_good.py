import torch
from torch import nn

torch.manual_seed(0)


class AttentionPool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.query = nn.Parameter(torch.zeros(dim))
        self.dim = dim

    def forward(self, tokens):
        weights = torch.softmax(tokens @ self.query / self.dim**0.5, dim=1)
        return (weights.unsqueeze(-1) * tokens).sum(1)


class SetClassifier(nn.Module):
    def __init__(self, dim, classes):
        super().__init__()
        self.pool = AttentionPool(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, tokens):
        return self.head(self.pool(tokens))


def make_batch(n):
    """One of ten tokens is marked in its first place, and only that one tells the class."""
    tokens = torch.randn(n, 10, 16)
    label = torch.randint(0, 4, (n,))
    place = torch.randint(0, 10, (n,))
    tokens[:, :, 0] = 0.0
    tokens[torch.arange(n), place, 0] = 4.0
    tokens[torch.arange(n), place, 1 + label] += 3.0
    return tokens, label


model = SetClassifier(16, 4)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(1, 601):
    tokens, label = make_batch(64)
    loss = criterion(model(tokens), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 150 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
