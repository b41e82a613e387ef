import torch
from torch import nn

torch.manual_seed(0)


class RegCriterion:
    def __init__(self, alpha):
        self.alpha = alpha

    def forward_reg(self, model, sample, optimizer):
        optimizer.zero_grad()
        x, y = sample
        first, second = model(x), model(x)
        ce = nn.functional.cross_entropy(first, y) + nn.functional.cross_entropy(second, y)
        p, q = first.log_softmax(-1), second.log_softmax(-1)
        kl = nn.functional.kl_div(p, q, log_target=True, reduction="batchmean")
        kl = kl + nn.functional.kl_div(q, p, log_target=True, reduction="batchmean")
        loss = ce / 2 + self.alpha * kl / 2
        loss.backward()
        return loss, {"loss": loss.item(), "kl": kl.item()}


class RDropTask:
    def __init__(self):
        self.centers = torch.randn(5, 16)

    def sample(self, n):
        y = torch.randint(0, 5, (n,))
        return self.centers[y] + torch.randn(n, 16), y

    def train_step(self, sample, model, criterion, optimizer, ignore_grad=False):
        model.train()
        loss, log = criterion.forward_reg(model, sample, optimizer)
        return loss, log


def main():
    task = RDropTask()
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 5))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = RegCriterion(alpha=0.5)
    for step in range(200):
        loss, log = task.train_step(task.sample(64), model, criterion, optimizer)
        optimizer.step()
        if step % 50 == 0:
            print(step, log)
    model.eval()
    x, y = task.sample(1000)
    print(f"accuracy {(model(x).argmax(1) == y).float().mean().item():.3f}")


main()
