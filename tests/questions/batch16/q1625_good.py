import itertools
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def net(inp, out, hidden=64):
    return nn.Sequential(
        nn.Linear(inp, hidden),
        nn.LeakyReLU(0.2),
        nn.Linear(hidden, hidden),
        nn.LeakyReLU(0.2),
        nn.Linear(hidden, out),
    )


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = net(2, 2)

    def forward(self, x):
        return x + self.body(x)


def domain_a(n):
    return torch.stack([1.6 * torch.randn(n), 0.5 * torch.randn(n)], dim=1)


def domain_b(n):
    turn = math.pi / 5
    rot = torch.tensor([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    return domain_a(n) @ rot.t() + torch.tensor([1.5, -1.0])


def gan_loss(logits, real):
    return F.mse_loss(logits, torch.full_like(logits, float(real)))


def main():
    torch.manual_seed(0)
    gen_a2b, gen_b2a = Generator(), Generator()
    dis_a, dis_b = net(2, 1), net(2, 1)
    optim_gen = torch.optim.Adam(
        itertools.chain(gen_a2b.parameters(), gen_b2a.parameters()), lr=5e-4, betas=(0.5, 0.999)
    )
    optim_dis = torch.optim.Adam(
        itertools.chain(dis_a.parameters(), dis_b.parameters()), lr=5e-4, betas=(0.5, 0.999)
    )
    for step in range(1, 1001):
        image_a, image_b = domain_a(64), domain_b(64)
        fake_a, fake_b = gen_b2a(image_b), gen_a2b(image_a)
        loss_identity = 0.5 * (F.l1_loss(gen_b2a(image_a), image_a) + F.l1_loss(gen_a2b(image_b), image_b))
        loss_gan = gan_loss(dis_a(fake_a), 1) + gan_loss(dis_b(fake_b), 1)
        loss_cycle = F.l1_loss(gen_b2a(fake_b), image_a) + F.l1_loss(gen_a2b(fake_a), image_b)
        loss = loss_gan + 3.0 * loss_cycle + 1.0 * loss_identity
        optim_gen.zero_grad()
        loss.backward()
        optim_gen.step()
        loss_dis = gan_loss(dis_a(image_a), 1) + gan_loss(dis_a(fake_a.detach()), 0)
        loss_dis = loss_dis + gan_loss(dis_b(image_b), 1) + gan_loss(dis_b(fake_b.detach()), 0)
        optim_dis.zero_grad()
        loss_dis.backward()
        optim_dis.step()
        if step % 200 == 0:
            with torch.no_grad():
                a, b = domain_a(4000), domain_b(4000)
                kept = (gen_b2a(a) - a).abs().mean().item(), (gen_a2b(b) - b).abs().mean().item()
                spread = (gen_a2b(a).std(dim=0).norm() / b.std(dim=0).norm()).item()
            print(
                f"step {step:4d}: identity {loss_identity.item():.3f}  cycle {loss_cycle.item():.3f}  "
                f"spread of fake B / B {spread:.3f}  change of A by b2a {kept[0]:.3f}, of B by a2b {kept[1]:.3f}"
            )


if __name__ == "__main__":
    main()
