import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F

N_CLASSES, LATENT, WIDTH = 4, 8, 24


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(LATENT + N_CLASSES, 64), nn.ReLU(), nn.Linear(64, WIDTH))

    def forward(self, z, labels):
        return self.net(torch.cat([z, F.one_hot(labels, N_CLASSES).float()], dim=1))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(WIDTH, 64), nn.LeakyReLU(0.2), nn.Linear(64, 16), nn.Tanh())
        self.adv_layer = nn.Linear(16, 1)
        self.aux_layer = nn.Linear(16, N_CLASSES)

    def forward(self, img):
        feature = self.features(img)
        return feature, self.adv_layer(feature), self.aux_layer(feature)


def mmd(x, y):
    return (x.mean(0) - y.mean(0)).pow(2).sum()


def make_images(n, centers):
    labels = torch.randint(N_CLASSES, (n,))
    return centers[labels] + 0.4 * torch.randn(n, WIDTH), labels


def pretrain(generator, discriminator, centers, steps=500):
    optimizer_G = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
    optimizer_D = torch.optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    for _ in range(steps):
        imgs, labels = make_images(64, centers)
        gen_imgs = generator(torch.randn(64, LATENT), labels)
        feature, validity, cls_gen = discriminator(gen_imgs)
        real_feature = discriminator(imgs)[0].detach()
        g_loss = F.softplus(-validity).mean() + F.cross_entropy(cls_gen, labels) + mmd(feature, real_feature)
        optimizer_G.zero_grad()
        g_loss.backward()
        optimizer_G.step()
        _, real_pred, pred_label = discriminator(imgs)
        _, fake_pred, _ = discriminator(gen_imgs.detach())
        d_loss = (
            F.softplus(-real_pred).mean()
            + F.softplus(fake_pred).mean()
            + 2 * F.cross_entropy(pred_label, labels)
        )
        optimizer_D.zero_grad()
        d_loss.backward()
        optimizer_D.step()


def main():
    torch.manual_seed(0)
    centers = 1.5 * torch.randn(N_CLASSES, WIDTH)
    generator, discriminator = Generator(), Discriminator()
    pretrain(generator, discriminator, centers)
    generator_aug, discriminator_aug = Generator(), Discriminator()
    generator_aug.load_state_dict(generator.state_dict())
    discriminator_aug.load_state_dict(discriminator.state_dict())
    optimizer_aug = torch.optim.Adam(
        itertools.chain(generator_aug.parameters(), discriminator_aug.parameters()),
        lr=1e-3,
        betas=(0.5, 0.999),
    )
    aug_dis = 3.0
    for param in discriminator_aug.parameters():
        param.requires_grad = False
    for step in range(301):
        imgs, labels = make_images(64, centers)
        gen_imgs = generator_aug(torch.randn(64, LATENT), labels)
        gen_feature, _, gen_pred_label = discriminator_aug(gen_imgs)
        real_feature, _, _ = discriminator_aug(imgs)
        mmd_loss = mmd(gen_feature, real_feature.detach()).clamp(0, aug_dis)
        class_loss = F.cross_entropy(gen_pred_label, labels)
        g_loss = class_loss - mmd_loss
        optimizer_aug.zero_grad()
        g_loss.backward()
        optimizer_aug.step()
        if step % 60 == 0:
            with torch.no_grad():
                feature, _, pred = discriminator(gen_imgs)
                far = mmd(feature, discriminator(imgs)[0]).item()
                right = (pred.argmax(1) == labels).float().mean().item()
                pairs = zip(discriminator_aug.parameters(), discriminator.parameters())
                moved = max((a - b).abs().max().item() for a, b in pairs)
            print(
                f"step {step:3d}: G loss {g_loss.item():6.3f}  mmd {mmd_loss.item():.3f}  judged by discriminator: "
                f"mmd {far:.3f} class acc {right:.3f}  discriminator_aug moved {moved:.3f}"
            )


if __name__ == "__main__":
    main()
