import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(19)


def requires_grad(model, flag=True):
    for p in model.parameters():
        p.requires_grad = flag


def mlp(cin, cout, width=64):
    return nn.Sequential(nn.Linear(cin, width), nn.LeakyReLU(0.2), nn.Linear(width, width), nn.LeakyReLU(0.2),
                         nn.Linear(width, cout))


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.img, self.seg = mlp(8, 2), mlp(8, 2)

    def forward(self, z):
        return self.img(z), self.seg(z)


def d_r1_loss(real_pred, real_img):
    grad_real, = torch.autograd.grad(outputs=real_pred.sum(), inputs=real_img, create_graph=True)
    return grad_real.pow(2).sum(1).mean()


def real_batch(n):
    angle = torch.rand(n) * 6.2832
    img = torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(n, 2)
    return img, torch.cat([(img[:, :1] > 0).float(), (img[:, 1:] > 0).float()], 1)


generator, discriminator_img, discriminator_seg = Generator(), mlp(2, 1), mlp(4, 1)
g_optim = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.0, 0.99))
d_img_optim = torch.optim.Adam(discriminator_img.parameters(), lr=2e-3, betas=(0.0, 0.99))
d_seg_optim = torch.optim.Adam(discriminator_seg.parameters(), lr=2e-3, betas=(0.0, 0.99))
r1, d_reg_every = 5.0, 4

for i in range(600):
    real_img, real_seg = real_batch(64)
    requires_grad(generator, False)
    requires_grad(discriminator_img, True)
    requires_grad(discriminator_seg, False)
    fake_img, fake_seg = generator(torch.randn(64, 8))
    d_img_loss = F.softplus(discriminator_img(fake_img)).mean() + F.softplus(-discriminator_img(real_img)).mean()
    d_img_optim.zero_grad()
    d_img_loss.backward()
    d_img_optim.step()

    requires_grad(discriminator_img, False)
    requires_grad(discriminator_seg, True)
    real_pair, fake_pair = torch.cat([real_img, real_seg], 1), torch.cat([fake_img, fake_seg], 1)
    d_seg_loss = F.softplus(discriminator_seg(fake_pair)).mean() + F.softplus(-discriminator_seg(real_pair)).mean()
    d_seg_optim.zero_grad()
    d_seg_loss.backward()
    d_seg_optim.step()

    if i % d_reg_every == 0:
        real_img.requires_grad = True
        real_pred = discriminator_img(real_img)
        r1_img_loss = d_r1_loss(real_pred, real_img)
        d_img_optim.zero_grad()
        (r1 / 2 * r1_img_loss * d_reg_every + 0 * real_pred[0]).sum().backward()
        d_img_optim.step()

    requires_grad(generator, True)
    requires_grad(discriminator_seg, False)
    fake_img, fake_seg = generator(torch.randn(64, 8))
    g_loss = F.softplus(-discriminator_img(fake_img)).mean()
    g_loss = g_loss + F.softplus(-discriminator_seg(torch.cat([fake_img, fake_seg], 1))).mean()
    g_optim.zero_grad()
    g_loss.backward()
    g_optim.step()
    if i % 100 == 96:
        print(f"step {i} d_img {d_img_loss.item():.3f} g {g_loss.item():.3f} r1 {r1_img_loss.item():.4f}")
