import torch
import torch.nn as nn

torch.manual_seed(0)
torch.set_num_threads(1)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4 + 4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))

    def forward(self, y, e):
        return self.net(torch.cat([y, e], 1))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8 + 4, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))

    def forward(self, x, y):
        return self.net(torch.cat([x, y], 1))


class LossG(nn.Module):
    def forward(self, x, x_hat, r_x_hat):
        content = (x - x_hat).abs().mean()
        return content - 0.05 * r_x_hat.mean(), content


class LossD(nn.Module):
    def forward(self, r_x, r_x_hat):
        return (torch.relu(1 + r_x_hat) + torch.relu(1 - r_x)).mean()


mix = torch.randn(8, 8) * 0.5


def batch(n=64):
    y, e = torch.randn(n, 4), torch.randn(n, 4)
    return torch.tanh(torch.cat([y, e], 1) @ mix), y, e


G, D = Generator(), Discriminator()
loss_g, loss_d = LossG(), LossD()
opt_g = torch.optim.Adam(G.parameters(), lr=5e-4)
opt_d = torch.optim.Adam(D.parameters(), lr=2e-3)

for step in range(1000):
    x, y, e = batch()
    x_hat = G(y, e)
    g, content = loss_g(x, x_hat, D(x_hat, y))
    opt_g.zero_grad()
    g.backward()
    opt_g.step()

    x_hat = x_hat.detach()
    for _ in range(2):
        d = loss_d(D(x, y), D(x_hat, y))
        opt_d.zero_grad()
        d.backward()
        opt_d.step()
    if step % 200 == 199:
        print(f"step {step + 1} loss G {g.item():.4f} loss D {d.item():.4f} content {content.item():.4f}")
