import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(0)


def domain_a(n):
    return torch.randn(n, 2) * torch.tensor([1.2, 0.4]) + torch.tensor([-2.0, 0.0])


def domain_b(n):
    return torch.randn(n, 2) * torch.tensor([1.2, 0.4]) + torch.tensor([2.0, 0.5])


def generator():
    return nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 2))


def critic():
    return nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))


class CycleGAN(nn.Module):
    def __init__(self):
        super().__init__()
        self.G_A, self.G_B = generator(), generator()
        self.D_A, self.D_B = critic(), critic()

    def forward(self, real_A, real_B):
        fake_A, fake_B = self.G_A(real_B), self.G_B(real_A)
        idt_A, idt_B = self.G_A(real_A), self.G_B(real_B)
        return fake_A, fake_B, idt_A, idt_B


class CycleGanLoss:
    def __init__(self, cgan, l_cyc=10.0, l_idt=0.5):
        self.cgan, self.l_cyc, self.l_idt = cgan, l_cyc, l_idt

    def __call__(self, real_A, real_B, output):
        fake_A, fake_B, idt_A, idt_B = output
        self.id_loss = self.l_cyc * self.l_idt * (F.l1_loss(idt_A, real_A) + F.l1_loss(idt_B, real_B))
        d_A, d_B = self.cgan.D_A(fake_A), self.cgan.D_B(fake_B)
        self.gen_loss = F.mse_loss(d_A, torch.ones_like(d_A)) + F.mse_loss(d_B, torch.ones_like(d_B))
        self.cyc_loss = self.l_cyc * (F.l1_loss(self.cgan.G_A(fake_B), real_A) + F.l1_loss(self.cgan.G_B(fake_A), real_B))
        return self.id_loss + self.gen_loss + self.cyc_loss


def critic_loss(D, real, fake):
    d_real, d_fake = D(real), D(fake)
    return 0.5 * (F.mse_loss(d_real, torch.ones_like(d_real)) + F.mse_loss(d_fake, torch.zeros_like(d_fake)))


cgan = CycleGAN()
crit = CycleGanLoss(cgan)
opt_G = torch.optim.Adam(itertools.chain(cgan.G_A.parameters(), cgan.G_B.parameters()), lr=1e-3, betas=(0.5, 0.99))
opt_D = torch.optim.Adam(itertools.chain(cgan.D_A.parameters(), cgan.D_B.parameters()), lr=1e-3, betas=(0.5, 0.99))
for i in range(1, 601):
    real_A, real_B = domain_a(128), domain_b(128)
    for p in itertools.chain(cgan.D_A.parameters(), cgan.D_B.parameters()):
        p.requires_grad_(False)
    output = cgan(real_A, real_B)
    loss = crit(real_A, real_B, output)
    opt_G.zero_grad()
    loss.backward()
    opt_G.step()
    for p in itertools.chain(cgan.D_A.parameters(), cgan.D_B.parameters()):
        p.requires_grad_(True)
    loss_D = critic_loss(cgan.D_A, real_A, output[0].detach()) + critic_loss(cgan.D_B, real_B, output[1].detach())
    opt_D.zero_grad()
    loss_D.backward()
    opt_D.step()
    if i % 150 == 0:
        with torch.no_grad():
            fake_B = cgan.G_B(domain_a(2000))
        print(f"step {i}  id {crit.id_loss.item():.3f}  gen {crit.gen_loss.item():.3f}  cycle {crit.cyc_loss.item():.3f}"
              f"  D {loss_D.item():.3f}  std of fake B {[round(v, 2) for v in fake_B.std(0).tolist()]}"
              f"  std of real B {[round(v, 2) for v in domain_b(2000).std(0).tolist()]}")
