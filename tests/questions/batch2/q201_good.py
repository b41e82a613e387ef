import torch
import torch.nn as nn


class Dehazer(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU())
        self.decoder = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x):
        return torch.sigmoid(self.decoder(self.encoder(x)))


class Discriminator(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, width, 4, stride=2, padding=1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(width, 1, 4, stride=2, padding=1),
        )

    def forward(self, x):
        return self.features(x)


class InpaintingModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.generator = Dehazer()
        self.discriminator = Discriminator()
        self.gen_optimizer = torch.optim.Adam(self.generator.parameters(), lr=1e-3)
        self.dis_optimizer = torch.optim.Adam(self.discriminator.parameters(), lr=1e-4)
        self.adversarial = nn.BCEWithLogitsLoss()

    def dis_loss(self, outputs, clear):
        real = self.discriminator(clear)
        fake = self.discriminator(outputs.detach())
        return self.adversarial(real, torch.ones_like(real)) + self.adversarial(fake, torch.zeros_like(fake))

    def gen_loss(self, outputs, clear):
        fake = self.discriminator(outputs)
        return 0.1 * self.adversarial(fake, torch.ones_like(fake)) + nn.functional.l1_loss(outputs, clear)

    def step_dis(self, dis_loss):
        self.dis_optimizer.zero_grad()
        dis_loss.backward()
        self.dis_optimizer.step()

    def step_gen(self, gen_loss):
        self.gen_optimizer.zero_grad()
        gen_loss.backward()
        self.gen_optimizer.step()


def train(model, epochs):
    for epoch in range(epochs):
        for _ in range(10):
            clear = torch.rand(4, 3, 16, 16)
            hazy = 0.6 * clear + 0.4
            outputs = model.generator(hazy)
            dis_loss = model.dis_loss(outputs, clear)
            model.step_dis(dis_loss)
            gen_loss = model.gen_loss(outputs, clear)
            model.step_gen(gen_loss)
        print(f"epoch {epoch}: gen {gen_loss.item():.4f} dis {dis_loss.item():.4f}")


torch.manual_seed(0)
train(InpaintingModel(), 8)
