import torch
from torch import nn

torch.manual_seed(0)

CLASSES = 4


class FocalLoss(nn.Module):
    def __init__(self, gamma=2.0, alpha=1.0):
        super().__init__()
        self.gamma, self.alpha = gamma, alpha

    def forward(self, logits, labels):
        p = torch.softmax(logits, dim=1)
        log_p = torch.log(p)
        label_onehot = nn.functional.one_hot(labels, CLASSES).float()
        log_pt = (label_onehot * log_p).sum(dim=1)
        pt = (label_onehot * p).sum(dim=1)
        return (-self.alpha * (1 - pt) ** self.gamma * log_pt).mean()


def batch(n):
    y = torch.multinomial(torch.tensor([0.7, 0.1, 0.1, 0.1]), n, replacement=True)
    centers = torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]])
    x = centers[y] + 0.5 * torch.randn(n, 2)
    flip = torch.rand(n) < 0.15
    y = torch.where(flip, torch.randint(0, CLASSES, (n,)), y)
    return torch.cat([x, 8 * torch.randn(n, 6)], dim=1), y


def main():
    model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, CLASSES))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    criterion = FocalLoss()
    for step in range(200):
        x, y = batch(64)
        loss = criterion(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 40 == 0:
            print(step, f"loss {loss.item():.4f}")
    with torch.no_grad():
        x, y = batch(2000)
        acc = (model(x).argmax(1) == y).float().mean().item()
    print(f"last loss {loss.item():.4f} accuracy {acc:.3f}")


main()
