import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self, n_mels=12, frame=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_mels, 64),
            nn.LeakyReLU(0.2),
            nn.Linear(64, 64),
            nn.LeakyReLU(0.2),
            nn.Linear(64, frame),
        )

    def forward(self, mel):
        return self.net(mel).unsqueeze(1)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(
            [
                nn.Conv1d(1, 16, 5, stride=2, padding=2),
                nn.Conv1d(16, 32, 5, stride=2, padding=2),
                nn.Conv1d(32, 32, 3, padding=1),
            ]
        )
        self.out = nn.Conv1d(32, 1, 3, padding=1)

    def forward(self, x):
        feats = []
        for layer in self.layers:
            x = F.leaky_relu(layer(x), 0.2)
            feats.append(x)
        return feats, self.out(x)


class Trainer:
    def __init__(self, lr=2e-3, lambda_feat=10.0):
        self.model_g = Generator()
        self.model_d = Discriminator()
        self.optim_g = torch.optim.Adam(self.model_g.parameters(), lr=lr, betas=(0.5, 0.9))
        self.optim_d = torch.optim.Adam(self.model_d.parameters(), lr=lr, betas=(0.5, 0.9))
        self.lambda_feat = lambda_feat

    def step(self, mel, audio):
        fake = self.model_g(mel)
        disc_real = self.model_d(audio)
        disc_fake = self.model_d(fake.detach())
        disc_fake_g = self.model_d(fake)

        loss_adv = (disc_fake_g[1] - 1.0).pow(2).mean()
        loss_feat = 0.0
        for feat_f, feat_r in zip(disc_fake[0], disc_real[0]):
            loss_feat = loss_feat + F.l1_loss(feat_f, feat_r.detach())
        loss_g = loss_adv + self.lambda_feat * loss_feat
        self.optim_g.zero_grad()
        loss_g.backward(retain_graph=True)
        self.optim_g.step()

        loss_d = (disc_real[1] - 1.0).pow(2).mean() + disc_fake[1].pow(2).mean()
        self.optim_d.zero_grad()
        loss_d.backward()
        self.optim_d.step()
        return loss_g.item(), loss_d.item(), F.mse_loss(fake, audio).item()


def make_batch(basis, n=32):
    mel = torch.randn(n, basis.size(0))
    return mel, torch.tanh(mel @ basis).unsqueeze(1)


def main():
    basis = 0.4 * torch.randn(12, 32)
    trainer = Trainer()
    for step in range(1, 201):
        mel, audio = make_batch(basis)
        loss_g, loss_d, mse = trainer.step(mel, audio)
        if step % 50 == 0:
            print(f"step {step}: g {loss_g:.3f} d {loss_d:.3f} waveform mse {mse:.4f}")


if __name__ == "__main__":
    main()
