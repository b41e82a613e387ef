import torch
from torch import nn

torch.manual_seed(0)


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, x):
        return x + self.net(x)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, x, for_real):
        logits = self.net(x)
        return nn.functional.binary_cross_entropy_with_logits(logits, torch.full_like(logits, float(for_real)))


def domain_a(n):
    return torch.randn(n, 2) * 0.4


def domain_b(n):
    return torch.randn(n, 2) * 0.4 + torch.tensor([2.0, -1.5])


def main():
    gen_ab, gen_ba = Translator(), Translator()
    net_disc = Discriminator()
    optimizer_gen = torch.optim.Adam([*gen_ab.parameters(), *gen_ba.parameters()], lr=1e-3, betas=(0.5, 0.9))
    optimizer_disc = torch.optim.Adam(net_disc.parameters(), lr=2e-3, betas=(0.5, 0.9))
    for step in range(600):
        real_a, real_b = domain_a(64), domain_b(64)
        fake_b = gen_ab(real_a)
        cycle = nn.functional.l1_loss(gen_ba(fake_b), real_a)
        loss_gan = net_disc(fake_b, for_real=True)
        loss_gen = loss_gan + 0.5 * cycle
        loss_gen.backward()
        optimizer_gen.step()
        optimizer_gen.zero_grad()

        optimizer_disc.zero_grad()
        loss_d_real = net_disc(real_b, for_real=True)
        loss_d_fake = net_disc(fake_b.detach(), for_real=False)
        loss_d = 0.5 * (loss_d_real + loss_d_fake)
        loss_d.backward()
        optimizer_disc.step()
        optimizer_disc.zero_grad()
        if step % 150 == 0:
            print(f"step {step} gan {loss_gan.item():.3f} cycle {cycle.item():.3f} D {loss_d.item():.3f}")
    with torch.no_grad():
        moved = gen_ab(domain_a(1000)).mean(0)
    print("mean of the translated", [round(v, 2) for v in moved.tolist()], "wanted [2.0, -1.5]")
    print(f"distance {(moved - torch.tensor([2.0, -1.5])).norm().item():.3f}")


main()
