import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(1)
np.random.seed(1)

BATCH_SIZE = 64
LR_G, LR_D = 1e-3, 1e-3
N_IDEAS = 5
ART_COMPONENTS = 15
PAINT_POINTS = np.vstack([np.linspace(-1, 1, ART_COMPONENTS) for _ in range(BATCH_SIZE)])


def artist_works():
    a = np.random.uniform(1, 2, size=BATCH_SIZE)[:, np.newaxis]
    paintings = a * np.power(PAINT_POINTS, 2) + (a - 1)
    return torch.from_numpy(paintings).float()


G = nn.Sequential(
    nn.Linear(N_IDEAS, 128),
    nn.ReLU(),
    nn.Linear(128, ART_COMPONENTS),
)

D = nn.Sequential(
    nn.Linear(ART_COMPONENTS, 128),
    nn.ReLU(),
    nn.Linear(128, 1),
    nn.Sigmoid(),
)

opt_G = torch.optim.Adam(G.parameters(), lr=LR_G)
opt_D = torch.optim.Adam(D.parameters(), lr=LR_D)

for step in range(1, 601):
    artist_paintings = artist_works()
    G_ideas = torch.randn(BATCH_SIZE, N_IDEAS)
    G_paintings = G(G_ideas)

    prob_artist0 = D(artist_paintings)
    prob_artist1 = D(G_paintings)

    D_loss = -torch.mean(torch.log(prob_artist0) + torch.log(1.0 - prob_artist1))
    G_loss = torch.mean(torch.log(1.0 - prob_artist1))

    opt_G.zero_grad()
    G_loss.backward(retain_graph=True)

    opt_D.zero_grad()
    D_loss.backward(inputs=list(D.parameters()))

    opt_D.step()
    opt_G.step()

    if step % 150 == 0:
        acc = prob_artist0.mean().item()
        print(f"step {step}: D accuracy {acc:.2f} (0.5 for D to converge)  D score {-D_loss.item():.2f}")
