import torch
from torch import nn

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, z):
        return self.net(z)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x)


class WGANClipping:
    def __init__(self, weight_cliping_limit=0.1, critic_iter=3):
        self.G, self.D = Generator(), Critic()
        self.d_optimizer = torch.optim.RMSprop(self.D.parameters(), lr=2e-3)
        self.g_optimizer = torch.optim.RMSprop(self.G.parameters(), lr=2e-3)
        self.limit, self.critic_iter = weight_cliping_limit, critic_iter

    def train(self, sample, iterations=400, batch=64):
        one = torch.tensor(1.0)
        mone = one * -1
        for g_iter in range(1, iterations + 1):
            for p in self.D.parameters():
                p.requires_grad = True
            for _ in range(self.critic_iter):
                for p in self.D.parameters():
                    p.data.clamp_(-self.limit, self.limit)
                self.d_optimizer.zero_grad()
                d_loss_real = self.D(sample(batch)).mean()
                d_loss_real.backward(mone)
                fake = self.G(torch.randn(batch, 4)).detach()
                d_loss_fake = self.D(fake).mean()
                d_loss_fake.backward(one)
                self.d_optimizer.step()

            for p in self.D.parameters():
                p.requires_grad = False
            self.g_optimizer.zero_grad()
            fake = self.G(torch.randn(batch, 4))
            g_loss = self.D(fake).mean()
            g_loss.backward(mone)
            g_cost = -g_loss
            self.g_optimizer.step()
            if g_iter % 100 == 0:
                centre = [round(v, 2) for v in fake.detach().mean(dim=0).tolist()]
                print(
                    f"iteration {g_iter}: generator cost {g_cost.item():.4f} centre of the samples {centre}"
                )


def main():
    centre = torch.tensor([2.0, -1.0])
    print("centre of the data", centre.tolist())
    WGANClipping().train(lambda n: centre + 0.4 * torch.randn(n, 2))


if __name__ == "__main__":
    main()
