import torch
import torch.nn as nn
import torch.nn.functional as F


def info_nce(query, positive_key, negative_keys, temperature=0.1):
    query = F.normalize(query, dim=-1)
    positive_key = F.normalize(positive_key, dim=-1)
    negative_keys = F.normalize(negative_keys, dim=-1)
    positive_logit = (query * positive_key).sum(dim=1, keepdim=True)
    negative_logits = query @ negative_keys.t()
    largest = torch.maximum(positive_logit, negative_logits.amax(1, keepdim=True) / temperature).detach()
    positive = torch.exp(positive_logit - largest)
    negatives = torch.exp(negative_logits / temperature - largest).sum(dim=1, keepdim=True)
    return -(torch.log(positive) - torch.log(positive + negatives)).mean()


class Encoder(nn.Module):
    def __init__(self, features, dim=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, 64), nn.ReLU(), nn.Linear(64, dim))

    def forward(self, x):
        return self.net(x)


class Pairs:
    """Two noisy views of the same hidden thing."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        fixed = torch.Generator().manual_seed(9)
        self.left = torch.randn(8, 24, generator=fixed)
        self.right = torch.randn(8, 30, generator=fixed)

    def draw(self, n):
        hidden = torch.randn(n, 8, generator=self.generator)
        a = torch.tanh(hidden @ self.left / 2) + 0.3 * torch.randn(n, 24, generator=self.generator)
        b = torch.tanh(hidden @ self.right / 2) + 0.3 * torch.randn(n, 30, generator=self.generator)
        return a, b


def main():
    torch.manual_seed(0)
    pairs = Pairs(0)
    left, right = Encoder(24), Encoder(30)
    optimizer = torch.optim.Adam([*left.parameters(), *right.parameters()], lr=2e-3)
    test_a, test_b = Pairs(1).draw(200)
    for step in range(601):
        a, b = pairs.draw(64)
        _, other = pairs.draw(128)
        loss = info_nce(left(a), right(b), right(other))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            with torch.no_grad():
                u, v = F.normalize(left(test_a), dim=1), F.normalize(right(test_b), dim=1)
                similarity = u @ v.t()
                found = (similarity.argmax(1) == torch.arange(200)).float().mean()
            print(f"step {step}: loss {loss.item():.3f}  similarity of pairs {similarity.diag().mean():.3f}  found {found:.3f}")


if __name__ == "__main__":
    main()
