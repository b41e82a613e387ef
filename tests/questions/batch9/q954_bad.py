import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ProgramGenerator(nn.Module):
    def __init__(self, dim=20, hidden=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Dropout(0.3))

    def forward(self, x):
        return self.net(x)


class ExecutionEngine(nn.Module):
    def __init__(self, hidden=64, classes=6):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(hidden, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Dropout(0.3)
        )
        self.out = nn.Linear(hidden, classes)

    def forward(self, x):
        return self.out(self.net(x))


def set_mode(mode, models):
    for m in models:
        if mode == "train":
            m.train()
        if mode == "eval":
            m.eval()


@torch.no_grad()
def check_accuracy(pg, ee, x, y):
    set_mode("eval", [pg, ee])
    scores = ee(pg(x))
    acc = (scores.argmax(1) == y).float().mean().item()
    nll = F.cross_entropy(scores, y).item()
    return acc, nll


def load(n, centers):
    y = torch.randint(0, 6, (n,))
    x = centers[y] + 2.0 * torch.randn(n, 20)
    return 6.0 + 3.0 * x, y


def train_loop(steps=900, record_every=60, num_train=240):
    centers = torch.randn(6, 20)
    train_x, train_y = load(num_train, centers)
    val_x, val_y = load(1000, centers)
    pg, ee = ProgramGenerator(), ExecutionEngine()
    optimizer = torch.optim.Adam([*pg.parameters(), *ee.parameters()], lr=2e-3)
    set_mode("train", [pg, ee])
    for t in range(1, steps + 1):
        idx = torch.randint(0, num_train, (40,))
        loss = F.cross_entropy(ee(pg(train_x[idx])), train_y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if t % record_every == 0:
            train_acc, _ = check_accuracy(pg, ee, train_x, train_y)
            val_acc, val_loss = check_accuracy(pg, ee, val_x, val_y)
            if t % 180 == 0:
                print(
                    f"t {t}  loss {loss.item():.4f}  train acc {train_acc:.3f}  val acc {val_acc:.3f} loss {val_loss:.3f}"
                )


train_loop()
