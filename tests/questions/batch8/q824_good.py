import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(20, 48), nn.ReLU(), nn.Linear(48, 16))
        self.out = nn.Linear(16, 20)

    def forward(self, x):
        code = self.net(x)
        return code, self.out(code)


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 3))

    def forward(self, code):
        return self.net(code)


def make_batch(prototypes, n=64):
    y = torch.randint(0, 3, (n,))
    return prototypes[y] + 0.8 * torch.randn(n, 20), y


def main():
    prototypes = torch.randn(3, 20)
    model1, model2 = Encoder(), Head()
    opt1 = torch.optim.Adam(model1.parameters(), lr=2e-3)
    opt2 = torch.optim.Adam(model2.parameters(), lr=2e-3)
    for step in range(1, 301):
        x, y = make_batch(prototypes)
        code, restored = model1(x)
        loss1 = F.mse_loss(restored, x)
        loss2 = F.cross_entropy(model2(code), y)

        opt1.zero_grad()
        opt2.zero_grad()
        loss1.backward(retain_graph=True)
        loss2.backward()
        opt1.step()
        opt2.step()
        if step % 100 == 0:
            print(f"step {step}: restoring {loss1.item():.3f} classes {loss2.item():.3f}")


if __name__ == "__main__":
    main()
