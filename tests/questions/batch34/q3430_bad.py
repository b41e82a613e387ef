import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.block1 = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.PReLU())
        self.up = nn.Sequential(nn.Conv2d(16, 64, 3, padding=1), nn.PixelShuffle(2), nn.PReLU())
        self.out = nn.Conv2d(16, 1, 3, padding=1)

    def forward(self, x):
        return (torch.tanh(self.out(self.up(self.block1(x)))) + 1) / 2


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.LeakyReLU(0.2),
            nn.Conv2d(16, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.LeakyReLU(0.2),
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(16, 32, kernel_size=1), nn.LeakyReLU(0.2), nn.Conv2d(32, 1, kernel_size=1),
        )

    def forward(self, x):
        return torch.sigmoid(self.net(x).view(x.size(0)))


class GeneratorLoss(nn.Module):
    def forward(self, out_labels, out_images, target_images):
        adversarial_loss = torch.mean(1 - out_labels)
        return F.mse_loss(out_images, target_images) + 0.001 * adversarial_loss


def main():
    netG, netD = Generator(), Discriminator()
    generator_criterion = GeneratorLoss()
    optimizerG = torch.optim.Adam(netG.parameters())
    optimizerD = torch.optim.Adam(netD.parameters())
    for epoch in range(3):
        for _ in range(10):
            target = torch.rand(8, 1, 4, 4).repeat_interleave(4, 2).repeat_interleave(4, 3)
            data = F.avg_pool2d(target, 2)

            real_img = target
            z = data
            fake_img = netG(z)
            netD.zero_grad()
            real_out = netD(real_img).mean()
            fake_out = netD(fake_img).mean()
            d_loss = 1 - real_out + fake_out
            d_loss.backward(retain_graph=True)
            optimizerD.step()

            netG.zero_grad()
            g_loss = generator_criterion(fake_out, fake_img, real_img)
            g_loss.backward()
            fake_img = netG(z)
            fake_out = netD(fake_img).mean()
            optimizerG.step()
        print("epoch", epoch, "G", round(g_loss.item(), 4), "D", round(d_loss.item(), 4))


main()
