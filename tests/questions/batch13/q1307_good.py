import torch
import torch.nn as nn
import torch.nn.functional as F


class FocalLoss(nn.Module):
    def __init__(self, gamma=3.0):
        super().__init__()
        self.gamma = gamma
        self.reduction = "none"

    def forward(self, logits, target):
        ce_loss = F.cross_entropy(logits, target, reduction=self.reduction)
        pt = torch.exp(-ce_loss)
        return ((1 - pt) ** self.gamma * ce_loss).mean()


class Segmenter(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU()
        )
        self.head = nn.Conv2d(16, classes, 1)

    def forward(self, x):
        return self.head(self.body(x))


def make_data(n, seed):
    """Large background, a few bright spots and still fewer dim ones that are hard to see."""
    g = torch.Generator().manual_seed(seed)
    y = torch.zeros(n, 16, 16, dtype=torch.long)
    for k, (label, size) in enumerate([(1, 4), (2, 2)]):
        rows, cols = torch.randint(0, 12, (2, n), generator=g)
        for i in range(n):
            y[i, rows[i] : rows[i] + size, cols[i] : cols[i] + size] = label
    level = torch.tensor([0.0, 1.5, 0.6])
    return level[y][:, None] + 0.35 * torch.randn(n, 1, 16, 16, generator=g), y


def main():
    torch.manual_seed(0)
    x, y = make_data(160, 0)
    model = Segmenter()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = FocalLoss()
    for epoch in range(12):
        for rows in torch.randperm(len(x)).split(20):
            logits = model(x[rows])
            loss = criterion(logits, y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 3 == 2:
            with torch.no_grad():
                guess = model(x).argmax(1)
            recall = [(guess[y == c] == c).float().mean().item() for c in range(3)]
            print(f"epoch {epoch}: loss {loss.item():.5f}  recall " + " ".join(f"{r:.3f}" for r in recall))
    logits = model(x[:20])
    logits.retain_grad()
    criterion(logits, y[:20]).backward()
    p = logits.softmax(1).gather(1, y[:20, None]).squeeze(1)
    pull = logits.grad.abs().sum(1) / (1 - p)
    print(
        f"pull per error, easy pixels / hard pixels: {(pull[p > 0.9].mean() / pull[p < 0.5].mean()).item():.4f}"
    )


if __name__ == "__main__":
    main()
