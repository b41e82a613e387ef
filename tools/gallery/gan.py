"""A GAN whose generator learns nothing: its pass takes the samples that were detached for the critic."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
of_generator = torch.optim.Adam(generator.parameters(), lr=1e-3)
of_critic = torch.optim.Adam(critic.parameters(), lr=1e-3)
model = critic
for _ in range(3):
    real = torch.randn(8, 2) + 3
    x = generator(torch.randn(8, 4)).detach()

    judged = torch.cat([critic(real), critic(x)])
    of_critic.zero_grad()
    F.binary_cross_entropy_with_logits(judged, torch.cat([torch.ones(8, 1), torch.zeros(8, 1)])).backward()
    of_critic.step()

    loss = F.binary_cross_entropy_with_logits(critic(x), torch.ones(8, 1))
    of_generator.zero_grad()
    loss.backward()
    of_generator.step()
