import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self, embed=12, noise=4, image=36):
        super().__init__()
        self.noise = noise
        self.project = nn.Sequential(nn.Linear(embed, 24), nn.BatchNorm1d(24), nn.LeakyReLU(0.2))
        self.net = nn.Sequential(
            nn.Linear(24 + noise, 64),
            nn.BatchNorm1d(64),
            nn.ReLU(),
            nn.Linear(64, 64),
            nn.BatchNorm1d(64),
            nn.ReLU(),
            nn.Linear(64, image),
            nn.Tanh(),
        )

    def forward(self, embed_vector, z):
        return self.net(torch.cat([self.project(embed_vector), z], dim=1))


class Trainer:
    def __init__(self, painter):
        self.painter = painter
        self.generator = Generator()
        self.optimizer = torch.optim.Adam(self.generator.parameters(), lr=2e-3)

    def picture(self, embed):
        return torch.tanh(embed @ self.painter)

    def train(self, steps=400):
        self.generator.train()
        for step in range(1, steps + 1):
            right_embed = torch.randn(64, 12)
            fake = self.generator(right_embed, torch.randn(64, 4))
            loss = F.mse_loss(fake, self.picture(right_embed))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if step % 100 == 0:
                print(f"step {step}: loss {loss.item():.4f}")

    def predict(self, right_embed):
        self.generator.eval()
        with torch.no_grad():
            z = torch.randn(len(right_embed), 4)
            return self.generator(right_embed, z)


def main():
    trainer = Trainer(torch.randn(12, 36) / 3)
    trainer.train()
    right_embed = torch.randn(64, 12)
    for copies in (1, 10, 50, 64):
        batch = right_embed.clone()
        batch[:copies] = batch[0]
        images = trainer.predict(batch)
        error = F.mse_loss(images[0], trainer.picture(batch[:1])[0]).item()
        print(f"{copies} of the 64 embeddings are the first one: error of its image {error:.4f}")


if __name__ == "__main__":
    main()
