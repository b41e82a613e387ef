import torch
import torch.nn as nn
import torch.nn.functional as F

SIZE = 24


def block(c_in, c_out):
    return nn.Sequential(nn.Conv2d(c_in, c_out, 3, padding=1), nn.LeakyReLU(0.2))


class PatchD(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(block(1, 16), block(16, 16), nn.Conv2d(16, 1, 3))

    def forward(self, x):
        return self.net(x)


class NoiseG(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(block(1, 16), block(16, 16), nn.Conv2d(16, 1, 3, padding=1))

    def forward(self, noise, prev):
        return self.net(noise + prev) + prev


def training_image():
    axis = torch.arange(SIZE, dtype=torch.float32)
    rows, cols = axis[:, None], axis[None, :]
    return torch.sign(torch.sin(0.8 * rows + 1.5 * torch.sin(0.35 * cols)))[None, None]


def train_scale(net_g, net_d, real, steps, g_steps=3, d_steps=2, alpha=1):
    opt_d = torch.optim.Adam(net_d.parameters(), lr=1e-3, betas=(0.5, 0.999))
    opt_g = torch.optim.Adam(net_g.parameters(), lr=2e-3, betas=(0.5, 0.999))
    prev = torch.zeros_like(real)
    z_opt = torch.randn_like(real)
    for step in range(steps):
        for _ in range(d_steps):
            net_d.zero_grad()
            err_real = -net_d(real).clamp(max=1).mean()
            fake = net_g(torch.randn_like(real), prev)
            err_fake = net_d(fake.detach()).clamp(min=-1).mean()
            (err_real + err_fake).backward()
            opt_d.step()
        for _ in range(g_steps):
            net_g.zero_grad()
            fake = net_g(torch.randn_like(real), prev)
            output = net_d(fake)
            err_g = -output.mean()
            err_g.backward()
            pull = sum(p.grad.norm().item() for p in net_g.parameters() if p.grad is not None)
            rec_loss = alpha * F.mse_loss(net_g(z_opt, prev), real)
            rec_loss.backward()
            opt_g.step()
        if step % 60 == 0:
            with torch.no_grad():
                sample = net_g(torch.randn_like(real), prev)
            stripes = (sample[..., 1:] - sample[..., :-1]).abs().mean() / (real[..., 1:] - real[..., :-1]).abs().mean()
            print(
                f"{step}: G {err_g.item():7.3f}  rec {rec_loss.item():.3f}  D real {-err_real.item():6.3f}"
                f"  pull on G {pull:.3f}  roughness {stripes.item():.2f}"
            )


if __name__ == "__main__":
    torch.manual_seed(0)
    train_scale(NoiseG(), PatchD(), training_image(), 301)
