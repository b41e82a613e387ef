import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class ContrastiveHead(nn.Module):
    def __init__(self, dim=16, temperature=0.1):
        super().__init__()
        self.temperature = temperature
        self.net = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, dim))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)

    def loss(self, query, pos, neg_sets):
        pos_logits = (query * pos).sum(dim=1, keepdim=True)
        neg_logits = query @ neg_sets.t()
        logits = torch.cat([pos_logits, neg_logits], dim=1)
        labels = torch.zeros(len(query), dtype=torch.long)
        return F.cross_entropy(logits / self.temperature, labels)


def views(mix, identity):
    content = identity @ mix
    return [content + 1.2 * torch.randn_like(content) for _ in range(2)]


def retrieval(head, mix):
    first, second = views(mix, torch.randn(400, 6))
    with torch.no_grad():
        similarity = head(first) @ head(second).t()
    return (similarity.argmax(1) == torch.arange(400)).float().mean().item()


def main():
    mix = torch.randn(6, 40)
    head = ContrastiveHead()
    optimizer = torch.optim.Adam(head.parameters(), lr=1e-3)
    for step in range(1, 601):
        first, second = views(mix, torch.randn(64, 6))
        negative, _ = views(mix, torch.randn(128, 6))
        loss = head.loss(head(first), head(second), head(negative))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 150 == 0:
            print(f"step {step}: loss {loss.item():.3f} partner found in {retrieval(head, mix):.3f}")


if __name__ == "__main__":
    main()
