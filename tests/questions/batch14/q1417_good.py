import torch
import torch.nn as nn
import torch.nn.functional as F


class TripletMarginMiner:
    """Indices of anchor, positive and negative rows; the type says which of the triplets are kept."""

    def __init__(self, margin, type_of_triplets):
        self.margin, self.type_of_triplets = margin, type_of_triplets

    def mine(self, dist, labels):
        same = labels[:, None] == labels[None, :]
        eye = torch.eye(len(labels), dtype=torch.bool)
        a, p, n = torch.where((same & ~eye)[:, :, None] & ~same[:, None, :])
        gap = dist[a, n] - dist[a, p]
        if self.type_of_triplets == "easy":
            keep = gap > self.margin
        else:
            keep = gap <= self.margin
            if self.type_of_triplets == "hard":
                keep &= gap <= 0
            elif self.type_of_triplets == "semihard":
                keep &= gap > 0
        return a[keep], p[keep], n[keep]


class TripletLoss(nn.Module):
    def __init__(self, margin=0.2, mining="semihard"):
        super().__init__()
        self.margin = margin
        self.miner = TripletMarginMiner(margin, mining)
        self.kept = self.behind = 0

    def forward(self, embeddings, labels):
        dist = torch.cdist(embeddings, embeddings)
        a, p, n = self.miner.mine(dist.detach(), labels)
        if len(a) == 0:
            return embeddings.sum() * 0
        gap = dist[a, n] - dist[a, p]
        self.kept += len(a)
        self.behind += (gap <= 0).sum().item()
        return F.relu(self.margin - gap).mean()


def make_animals(n, looks):
    identity = torch.randint(len(looks), (n,))
    pose = torch.randn(n, 3) @ torch.randn(3, looks.shape[1], generator=torch.Generator().manual_seed(5))
    return looks[identity] + 0.8 * pose + 0.4 * torch.randn(n, looks.shape[1]), identity


def top1(net, x, labels):
    with torch.no_grad():
        f = F.normalize(net(x))
    sim = f @ f.t()
    sim.fill_diagonal_(-2)
    return (labels[sim.argmax(1)] == labels).float().mean().item()


def main():
    torch.manual_seed(0)
    looks = torch.randn(24, 20)
    x, y = make_animals(720, looks)
    query, identity = make_animals(480, torch.randn(24, 20))
    net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 16))
    objective = TripletLoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    for epoch in range(8):
        total = objective.kept = objective.behind = 0
        for rows in torch.randperm(len(x)).split(48):
            loss = objective(F.normalize(net(x[rows])), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(
            f"epoch {epoch}: loss {total / 15:.4f}  triplets {objective.kept}  of them with the negative nearer "
            f"{objective.behind}  top-1 of new animals {top1(net, query, identity):.3f}"
        )


if __name__ == "__main__":
    main()
