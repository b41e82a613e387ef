import torch
import torch.nn as nn
import torch.nn.functional as F

BASE_LR = 0.3


def adjust_learning_rate(optimizer, epoch):
    """Ten times smaller after epoch 10, then smaller again after 15 and 20."""
    lr = BASE_LR
    if epoch >= 10:
        lr = BASE_LR * 0.1
    elif epoch >= 15:
        lr = BASE_LR * 0.01
    elif epoch >= 20:
        lr = BASE_LR * 0.001
    for param_group in optimizer.param_groups:
        param_group["lr"] = lr
    return lr


class BatchCriterion(nn.Module):
    """Every row of a batch is its own class; its second view has to find it."""

    def __init__(self, T=0.1):
        super().__init__()
        self.T = T

    def forward(self, one, two):
        logits = one @ two.t() / self.T
        return F.cross_entropy(logits, torch.arange(len(one)))


def augment(x):
    return x + 0.4 * torch.randn_like(x)


def recall_at_1(net, x, labels):
    with torch.no_grad():
        f = F.normalize(net(x))
    sim = f @ f.t()
    sim.fill_diagonal_(-2)
    return (labels[sim.argmax(1)] == labels).float().mean().item()


def main():
    torch.manual_seed(0)
    centers = torch.randn(8, 24)
    labels = torch.randint(8, (640,))
    x = centers[labels] + 0.9 * torch.randn(640, 24)
    net = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 16))
    criterion = BatchCriterion()
    optimizer = torch.optim.SGD(net.parameters(), lr=BASE_LR, momentum=0.9, weight_decay=5e-4)
    for epoch in range(25):
        lr = adjust_learning_rate(optimizer, epoch)
        total = 0.0
        for rows in torch.randperm(len(x)).split(64):
            one, two = F.normalize(net(augment(x[rows]))), F.normalize(net(augment(x[rows])))
            loss = criterion(one, two)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 3 == 0:
            print(
                f"epoch {epoch}: lr {lr:.5f}  loss {total / 10:.3f}  recall@1 {recall_at_1(net, x, labels):.3f}"
            )


if __name__ == "__main__":
    main()
