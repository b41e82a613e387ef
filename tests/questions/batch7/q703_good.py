import torch
from torch import nn, optim

torch.manual_seed(0)

LATENT_CODE_SIZE = 16
CRITIC_UPDATES = 5
CLIP = 0.05


class SDFGenerator(nn.Module):
    def __init__(self, points=24):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(LATENT_CODE_SIZE, 64),
            nn.ReLU(),
            nn.Linear(64, 64),
            nn.ReLU(),
            nn.Linear(64, points),
            nn.Tanh(),
        )

    def generate(self, n):
        return self.layers(torch.randn(n, LATENT_CODE_SIZE))


class Critic(nn.Module):
    def __init__(self, points=24):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(points, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1)
        )

    def forward(self, sdf):
        return self.layers(sdf).squeeze(1)

    def clip_weights(self, value):
        for parameter in self.parameters():
            parameter.data.clamp_(-value, value)


class ShapeDataset:
    def __init__(self, n=2000, points=24):
        grid = torch.linspace(-1, 1, points)
        radius = 0.3 + 0.4 * torch.rand(n, 1)
        self.data = (grid.abs() - radius).clamp(-1, 1)

    def batches(self, size=64):
        for index in torch.randperm(len(self.data)).split(size):
            yield self.data[index]


def train(epochs=12):
    dataset = ShapeDataset(1000)
    generator, critic = SDFGenerator(), Critic()
    generator_optimizer = optim.RMSprop(generator.parameters(), lr=5e-4)
    critic_optimizer = optim.RMSprop(critic.parameters(), lr=5e-4)
    batch_index = 0
    for epoch in range(1, epochs + 1):
        for sample in dataset.batches():
            if batch_index % CRITIC_UPDATES == 0:
                generator_optimizer.zero_grad()
                critic_output_fake = critic(generator.generate(sample.size(0)))
                fake_loss = -torch.mean(critic_output_fake)
                fake_loss.backward()
                generator_optimizer.step()

            critic_optimizer.zero_grad()
            with torch.no_grad():
                fake_sample = generator.generate(sample.size(0))
            critic_loss = critic(fake_sample).mean() - critic(sample).mean()
            critic_loss.backward()
            critic_optimizer.step()
            critic.clip_weights(CLIP)
            batch_index += 1
        if epoch % 3 == 0:
            error = (generator.generate(1000).mean(0) - dataset.data.mean(0)).abs().mean()
            print(
                f"epoch {epoch}: generator {fake_loss.item():.4f} critic {critic_loss.item():.4f}"
                f" mean shape error {error.item():.4f}"
            )


if __name__ == "__main__":
    train()
