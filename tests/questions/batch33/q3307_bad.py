import torch
from torch import nn

torch.manual_seed(0)


class Opt:
    lr = 0.15
    keep_step = 150
    decay_step = 150
    display_count = 50


class WarpNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.extract = nn.Sequential(nn.Linear(10, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh())
        self.regress = nn.Linear(40, 4)

    def forward(self, x):
        return self.regress(self.extract(x))


def sample(n, noise):
    x = torch.randn(n, 10)
    y = torch.stack([x[:, 0] * x[:, 1], x[:, 2].sin(), x[:, 3] - x[:, 4], x[:, 5].abs()], dim=1)
    return x, y + noise * torch.randn_like(y)


def train_gmm(opt, model):
    criterion = nn.L1Loss()
    optimizer = torch.optim.SGD(model.parameters(), lr=opt.lr, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lr_lambda=lambda step: 1.0 - max(0, step - opt.keep_step) / float(opt.decay_step + 1),
    )
    for step in range(opt.keep_step + opt.decay_step):
        x, y = sample(16, 0.5)
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (step + 1) % opt.display_count == 0:
            print(f"step {step + 1} lr {optimizer.param_groups[0]['lr']:.4f} loss {loss.item():.4f}")
    return scheduler


def main():
    model = WarpNet()
    train_gmm(Opt, model)
    with torch.no_grad():
        x, y = sample(2000, 0.0)
        print(f"test L1 {nn.functional.l1_loss(model(x), y).item():.4f}")


main()
