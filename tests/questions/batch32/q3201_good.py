import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(1)
np.random.seed(1)

BATCH_SIZE = 64
LR_G = 0.0002
LR_D = 0.0002
N_IDEAS = 5
COMPONENTS = 15
POINTS = np.vstack([np.linspace(-1, 1, COMPONENTS) for _ in range(BATCH_SIZE)])


def artist_works():
    a = np.random.uniform(1, 2, size=BATCH_SIZE)[:, np.newaxis]
    paintings = a * np.power(POINTS, 2) + (a - 1)
    return torch.from_numpy(paintings).float()


G = nn.Sequential(
    nn.Linear(N_IDEAS, 64),
    nn.ReLU(),
    nn.Linear(64, COMPONENTS),
)
D = nn.Sequential(
    nn.Linear(COMPONENTS, 64),
    nn.ReLU(),
    nn.Linear(64, 1),
    nn.Sigmoid(),
)

opt_D = torch.optim.Adam(D.parameters(), lr=LR_D)
opt_G = torch.optim.Adam(G.parameters(), lr=LR_G)


def train(steps):
    for step in range(steps):
        real = artist_works()
        ideas = torch.randn(BATCH_SIZE, N_IDEAS)
        fake = G(ideas)

        prob_real = D(real)
        prob_fake = D(fake)

        D_loss = -torch.mean(torch.log(prob_real) + torch.log(1.0 - prob_fake))
        G_loss = torch.mean(torch.log(1.0 - prob_fake))

        opt_D.zero_grad()
        D_loss.backward(retain_graph=True)

        opt_G.zero_grad()
        G_loss.backward()

        opt_D.step()
        opt_G.step()

        if step % 100 == 0:
            print(step, round(prob_real.mean().item(), 3), round(D_loss.item(), 3))


if __name__ == "__main__":
    train(400)
