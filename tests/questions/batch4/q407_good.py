import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class SNLinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_out, n_in) / n_in**0.5)
        self.bias = nn.Parameter(torch.zeros(n_out))
        self.register_buffer("u", F.normalize(torch.randn(n_out), dim=0))
        self.register_buffer("v", F.normalize(torch.randn(n_in), dim=0))

    def normalized_weight(self):
        if self.training:
            with torch.no_grad():
                self.v.copy_(F.normalize(self.weight.t() @ self.u, dim=0))
                self.u.copy_(F.normalize(self.weight @ self.v, dim=0))
        u, v = self.u.clone(), self.v.clone()
        sigma = torch.dot(u, self.weight @ v)
        return self.weight / sigma

    def forward(self, x):
        return F.linear(x, self.normalized_weight(), self.bias)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = SNLinear(2, 64)
        self.l2 = SNLinear(64, 64)
        self.l3 = SNLinear(64, 1)

    def forward(self, x):
        return self.l3(F.leaky_relu(self.l2(F.leaky_relu(self.l1(x), 0.2)), 0.2))


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, z):
        return self.net(z)


def real_batch(n):
    angle = torch.rand(n) * 6.2832
    return torch.stack([angle.cos() + 2.0, angle.sin() - 1.0], 1) + 0.05 * torch.randn(n, 2)


critic, generator = Critic(), Generator()
opt_d = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.9))
for step in range(300):
    fake = generator(torch.randn(64, 4)).detach()
    d_loss = critic(fake).mean() - critic(real_batch(64)).mean()
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()

    g_loss = -critic(generator(torch.randn(64, 4))).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
    if step % 50 == 0:
        mean = generator(torch.randn(256, 4)).mean(0).tolist()
        print(
            f"{step}: critic {d_loss.item():.4f}, generator {g_loss.item():.4f}, mean {mean[0]:.2f} {mean[1]:.2f}"
        )
