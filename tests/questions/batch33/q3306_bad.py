import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

DECAY_STEP = 60
LR_DECAY = 0.2


class Saliency(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.out = nn.Linear(48, 1)

    def forward(self, x):
        return self.out(self.body(x)).squeeze(-1)


def make_data(n):
    x = torch.randn(n, 12)
    y = (x[:, 0] * x[:, 1] + torch.sin(2 * x[:, 2]) + 0.3 * x[:, 3:6].sum(1)) + 0.4 * torch.randn(n)
    return x, y


def main():
    lr = 0.06
    x, y = make_data(640)
    loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
    xt, yt = make_data(1000)
    model = Saliency()
    opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    for epo in range(8):
        total = 0.0
        for i, (xb, yb) in enumerate(loader):
            loss = nn.functional.mse_loss(model(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
            if i + epo * len(loader) % DECAY_STEP == 0 and i != 0:
                lr = lr * LR_DECAY
                for group in opt.param_groups:
                    group["lr"] = lr
                print("new learning rate", lr)
        with torch.no_grad():
            test = nn.functional.mse_loss(model(xt), yt).item()
        print(f"epoch {epo} lr {opt.param_groups[0]['lr']:.5f} train {total / len(loader):.4f} test {test:.4f}")


main()
