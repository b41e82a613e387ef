import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(6)
DIM, T = 6, 2


def mlp(nin, nout, nh=48):
    return nn.Sequential(
        nn.Linear(nin, nh), nn.LeakyReLU(0.2), nn.Linear(nh, nh), nn.LeakyReLU(0.2), nn.Linear(nh, nout)
    )


class RecycleGAN:
    def __init__(self, lambda_recycle=1.0):
        self.G_A_B, self.G_B_A = mlp(DIM, DIM), mlp(DIM, DIM)
        self.P_A, self.P_B = mlp(T * DIM, DIM), mlp(T * DIM, DIM)
        self.D_A, self.D_B = mlp(DIM, 1), mlp(DIM, 1)
        generator = [p for m in (self.G_A_B, self.G_B_A, self.P_A, self.P_B) for p in m.parameters()]
        critic = [p for m in (self.D_A, self.D_B) for p in m.parameters()]
        self.optim_G = torch.optim.Adam(generator, lr=2e-3, betas=(0.5, 0.999))
        self.optim_D = torch.optim.Adam(critic, lr=2e-3, betas=(0.5, 0.999))
        self.lambda_recycle = lambda_recycle

    def updateGenerator(
        self, frames, predictor, back_generator, fake_frames, other_predictor, discriminator, tail
    ):
        predict_real = predictor(torch.cat(frames[:-1], dim=1))
        reconstruct = F.mse_loss(predict_real, frames[-1])
        predict_fake = other_predictor(torch.cat(fake_frames[:-1], dim=1))
        recycle = F.mse_loss(back_generator(predict_fake), frames[-1])
        score = discriminator(tail)
        adversarial = F.mse_loss(score, torch.ones_like(score))
        return reconstruct + self.lambda_recycle * recycle + adversarial, adversarial

    def backward(self, true_a, true_b):
        fake_b = [self.G_A_B(frame) for frame in true_a]
        fake_a = [self.G_B_A(frame) for frame in true_b]
        loss_d = 0.0
        for critic, real, fake in ((self.D_A, true_a, fake_a), (self.D_B, true_b, fake_b)):
            real_score, fake_score = critic(real[-1]), critic(fake[-1].detach())
            loss_d = loss_d + F.mse_loss(real_score, torch.ones_like(real_score)) + fake_score.pow(2).mean()
        self.optim_D.zero_grad()
        loss_d.backward()
        self.optim_D.step()

        loss_a, adv_a = self.updateGenerator(
            true_a, self.P_A, self.G_B_A, fake_b, self.P_B, self.D_B, true_b[-1]
        )
        loss_b, adv_b = self.updateGenerator(
            true_b, self.P_B, self.G_A_B, fake_a, self.P_A, self.D_A, true_a[-1]
        )
        self.optim_G.zero_grad()
        (loss_a + loss_b).backward()
        self.optim_G.step()
        return (loss_a + loss_b).item(), (adv_a + adv_b).item(), loss_d.item()


mix_a, mix_b = torch.randn(2, DIM), torch.randn(2, DIM)


def videos(mix, shift, n=64):
    phase = torch.rand(n, 1) * 6.28
    steps = [phase + 0.5 * t for t in range(T + 1)]
    return [torch.cat([s.cos(), s.sin()], dim=1) @ mix + shift + 0.05 * torch.randn(n, DIM) for s in steps]


model = RecycleGAN()
for it in range(240):
    loss_g, adversarial, loss_d = model.backward(videos(mix_a, 0.0), videos(mix_b, 2.0))
    if (it + 1) % 60 == 0:
        print(f"iter {it + 1}: G {loss_g:.3f} adversarial {adversarial:.3f} D {loss_d:.3f}")

with torch.no_grad():
    fake_b = model.G_A_B(videos(mix_a, 0.0, 2000)[-1])
    real_b = videos(mix_b, 2.0, 2000)[-1]
print(f"mean of domain B: {real_b.mean():.2f}, of A translated to B: {fake_b.mean():.2f}")
print(
    f"distance of the covariances: {(fake_b.T.cov() - real_b.T.cov()).norm():.2f} (of B itself {real_b.T.cov().norm():.2f})"
)
