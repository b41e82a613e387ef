"""A CycleGAN-like generator with a semantic network f_s, which is trained along with it."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SemanticGAN:
    def __init__(self, n_classes=4):
        self.netG = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 16))
        self.netD = nn.Sequential(nn.Linear(16, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
        self.netf_s = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, n_classes))
        self.optimizer_G = torch.optim.Adam(self.netG.parameters(), lr=1e-3, betas=(0.5, 0.999))
        self.optimizer_D = torch.optim.Adam(self.netD.parameters(), lr=1e-3, betas=(0.5, 0.999))
        self.optimizer_f_s = torch.optim.Adam(self.netf_s.parameters(), lr=1e-3)
        self.criterionGAN = nn.BCEWithLogitsLoss()

    def set_input(self, real_A, label_A, real_B):
        self.real_A, self.label_A, self.real_B = real_A, label_A, real_B

    def forward(self):
        self.fake_B = self.netG(self.real_A)
        self.pfB = self.netf_s(self.fake_B)
        self.pred_real_A = self.netf_s(self.real_A)

    def backward_G(self):
        pred_fake = self.netD(self.fake_B)
        self.loss_G_GAN = self.criterionGAN(pred_fake, torch.ones_like(pred_fake))
        self.loss_sem = F.cross_entropy(self.pfB, self.label_A)
        self.loss_G = self.loss_G_GAN + self.loss_sem
        self.loss_G.backward()

    def backward_f_s(self):
        self.loss_f_s = F.cross_entropy(self.pred_real_A, self.label_A)
        self.loss_f_s.backward()

    def backward_D(self):
        real = self.netD(self.real_B)
        fake = self.netD(self.fake_B.detach())
        self.loss_D = 0.5 * (
            self.criterionGAN(real, torch.ones_like(real)) + self.criterionGAN(fake, torch.zeros_like(fake))
        )
        self.loss_D.backward()

    def optimize_parameters(self):
        self.forward()

        self.optimizer_G.zero_grad()
        self.backward_G()
        self.optimizer_G.step()

        self.optimizer_f_s.zero_grad()
        self.backward_f_s()
        self.optimizer_f_s.step()

        self.optimizer_D.zero_grad()
        self.backward_D()
        self.optimizer_D.step()


protos = torch.randn(4, 16) * 2
model = SemanticGAN()
for step in range(300):
    label = torch.randint(0, 4, (32,))
    real_A = protos[label] + 0.3 * torch.randn(32, 16)
    real_B = protos[torch.randint(0, 4, (32,))] * 0.5 + 1.0 + 0.3 * torch.randn(32, 16)
    model.set_input(real_A, label, real_B)
    model.optimize_parameters()
    if step % 50 == 0:
        print(
            f"{step}: G {model.loss_G.item():.3f} sem {model.loss_sem.item():.3f} f_s {model.loss_f_s.item():.3f}"
        )
