import torch
import torch.nn as nn

torch.manual_seed(15)
CRITIC_ITER, CLIP, Z_DIM, BATCH = 5, 0.1, 4, 64

G = nn.Sequential(nn.Linear(Z_DIM, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
g_optimizer = torch.optim.RMSprop(G.parameters(), lr=1e-3)
d_optimizer = torch.optim.RMSprop(D.parameters(), lr=1e-3)


def real_batch(n):
    return torch.tensor([2.0, -1.0]) + 0.4 * torch.randn(n, 2)


one = torch.tensor(1.0)
mone = one * -1

for g_iter in range(301):
    for p in D.parameters():
        p.requires_grad = True
    for d_iter in range(CRITIC_ITER):
        D.zero_grad()
        for p in D.parameters():
            p.data.clamp_(-CLIP, CLIP)
        d_loss_real = D(real_batch(BATCH)).mean()
        d_loss_real.backward(mone)
        fake = G(torch.randn(BATCH, Z_DIM)).detach()
        d_loss_fake = D(fake).mean()
        d_loss_fake.backward(one)
        wasserstein_d = d_loss_real - d_loss_fake
        d_optimizer.step()

    for p in D.parameters():
        p.requires_grad = False
    G.zero_grad()
    fake = G(torch.randn(BATCH, Z_DIM))
    g_loss = D(fake).mean()
    g_loss.backward(one)
    g_optimizer.step()

    if g_iter % 50 == 0:
        with torch.no_grad():
            samples = G(torch.randn(1000, Z_DIM))
            gap = (samples.mean(0) - torch.tensor([2.0, -1.0])).norm().item()
        print(f"iter {g_iter} wasserstein {wasserstein_d.item():.4f} g loss {g_loss.item():.4f} "
              f"distance of sample mean to real mean {gap:.3f}")
