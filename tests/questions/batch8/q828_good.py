import torch
from torch import nn

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 8))

    def forward(self, z):
        return self.model(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(8, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))

    def forward(self, x):
        return self.model(x)


def real_samples(n, mix):
    return torch.tanh(torch.randn(n, 3) @ mix) + 1.5


def main():
    mix = torch.randn(3, 8)
    n_critic, clip_value = 4, 0.1
    generator, discriminator = Generator(), Discriminator()
    optimizer_G = torch.optim.RMSprop(generator.parameters(), lr=2e-3)
    optimizer_D = torch.optim.RMSprop(discriminator.parameters(), lr=2e-3)
    target = real_samples(4000, mix).mean(dim=0)
    for i in range(1, 2001):
        real_imgs = real_samples(64, mix)
        fake_imgs = generator(torch.randn(64, 6)).detach()
        loss_D = -torch.mean(discriminator(real_imgs)) + torch.mean(discriminator(fake_imgs))
        optimizer_D.zero_grad()
        loss_D.backward()
        optimizer_D.step()
        for p in discriminator.parameters():
            p.data.clamp_(-clip_value, clip_value)

        if i % n_critic == 0:
            gen_imgs = generator(torch.randn(64, 6))
            loss_G = -torch.mean(discriminator(gen_imgs))
            optimizer_G.zero_grad()
            loss_G.backward()
            optimizer_G.step()
        if i % 400 == 0:
            away = (gen_imgs.mean(dim=0) - target).abs().mean().item()
            print(
                f"step {i}: D {loss_D.item():.4f} G {loss_G.item():.4f} samples are {away:.3f} away from the data's mean"
            )


if __name__ == "__main__":
    main()
