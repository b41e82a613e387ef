import torch
import torch.nn as nn

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self, ch=8):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, ch, 3, padding=1), nn.ReLU(), nn.Conv2d(ch, 1, 3, padding=1)
        )

    def forward(self, x):
        return torch.tanh(self.net(x) + x)


class Critic(nn.Module):
    def __init__(self, ch=8):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, ch, 3, stride=2, padding=1),
            nn.LeakyReLU(0.2),
            nn.Flatten(),
            nn.Linear(ch * 25, 1),
        )

    def forward(self, x):
        return self.net(x)


class ConditionalGAN:
    def __init__(self, critic_iters=3):
        self.netG, self.netD = Generator(), Critic()
        self.optimizer_G = torch.optim.Adam(self.netG.parameters(), lr=1e-3)
        self.optimizer_D = torch.optim.Adam(self.netD.parameters(), lr=1e-3)
        self.critic_iters = critic_iters

    def set_input(self, blur, sharp):
        self.real_A, self.real_B = blur, sharp

    def forward(self):
        self.fake_B = self.netG(self.real_A)

    def backward_D(self):
        pred_fake = self.netD(self.fake_B)
        pred_real = self.netD(self.real_B)
        self.loss_D = pred_fake.mean() - pred_real.mean()
        drift = 0.01 * (pred_real**2).mean()
        (self.loss_D + drift).backward(retain_graph=True)

    def backward_G(self):
        self.loss_G_GAN = -self.netD(self.fake_B).mean()
        self.loss_content = 10.0 * (self.fake_B - self.real_B).pow(2).mean()
        (self.loss_G_GAN * 0.01 + self.loss_content).backward()

    def optimize_parameters(self):
        self.forward()
        for _ in range(self.critic_iters):
            self.optimizer_D.zero_grad()
            self.backward_D()
            self.optimizer_D.step()
        self.optimizer_G.zero_grad()
        self.backward_G()
        self.optimizer_G.step()


def pairs(n):
    sharp = torch.sign(torch.randn(n, 1, 10, 10)) * 0.8
    blur = nn.functional.avg_pool2d(sharp, 3, stride=1, padding=1) + 0.3 * sharp
    return blur, sharp


def main():
    model = ConditionalGAN()
    for step in range(90):
        model.set_input(*pairs(16))
        model.optimize_parameters()
        if step % 30 == 29:
            print(step, "content", model.loss_content.item(), "D", model.loss_D.item())


if __name__ == "__main__":
    main()
