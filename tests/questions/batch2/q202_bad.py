import torch
import torch.nn as nn


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(100, 256),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(256, 64),
            nn.Tanh(),
        )

    def forward(self, inputs):
        return self.main(inputs).view(-1, 1, 8, 8)


def block(n_in, n_out):
    return [
        nn.Linear(n_in, n_out),
        nn.LeakyReLU(0.2, inplace=True),
        nn.Dropout(inplace=True),
    ]


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(*block(64, 256), *block(256, 64), nn.Linear(64, 1), nn.Sigmoid())

    def forward(self, inputs):
        return self.main(inputs.view(-1, 64))


torch.manual_seed(1)
G = Generator()
D = Discriminator()
criterion = nn.BCELoss()
G_optimizer = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
D_optimizer = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
digits = torch.tanh(torch.randn(512, 1, 8, 8) + torch.linspace(-2, 2, 8))

for epoch in range(5):
    for data in digits.split(64):
        size = data.size(0)
        D_real = D(data)
        D_real_loss = criterion(D_real, torch.ones(size, 1))
        D_fake = D(G(torch.randn(size, 100)).detach())
        D_fake_loss = criterion(D_fake, torch.zeros(size, 1))
        D_loss = D_real_loss + D_fake_loss
        D.zero_grad()
        D_loss.backward()
        D_optimizer.step()

        DG_score = D(G(torch.randn(size, 100)))
        G_loss = criterion(DG_score, torch.ones(size, 1))
        G.zero_grad()
        G_loss.backward()
        G_optimizer.step()
    print(f"epoch {epoch} D_loss {D_loss.item():.4f} G_loss {G_loss.item():.4f}")
