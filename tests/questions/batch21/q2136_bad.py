import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
N_CLASS, LATENT, DIM_IN, DIM_Z = 8, 12, 64, 128

gen = torch.Generator().manual_seed(3)
centres = 1.2 * torch.randn(N_CLASS, LATENT, generator=gen)
mix_signal = torch.randn(LATENT, DIM_IN, generator=gen) / LATENT ** 0.5
mix_noise = torch.randn(40, DIM_IN, generator=gen) / 40 ** 0.5


def sample(n):
    y = torch.randint(0, N_CLASS, (n,), generator=gen)
    latent = centres[y] + 0.5 * torch.randn(n, LATENT, generator=gen)
    return latent @ mix_signal, y


def augment(x):
    style = torch.randn(len(x), 40, generator=gen) @ mix_noise
    return x + 1.5 * style + 0.1 * torch.randn(x.shape, generator=gen)


class BarlowTwinsLoss(nn.Module):
    def __init__(self, lambda_param=5e-3):
        super().__init__()
        self.lambda_param = lambda_param

    def forward(self, z_a, z_b):
        n, d = z_a.shape
        z_a = (z_a - z_a.mean(0)) / z_a.std(0)
        z_b = (z_b - z_b.mean(0)) / z_b.std(0)
        c = z_a.T @ z_b / n
        eye = torch.eye(d, dtype=torch.bool)
        c_diff = (c - eye.float()).pow(2)
        c_diff[~eye].mul_(self.lambda_param)
        return c_diff.sum(), c.diagonal().mean().item()


encoder = nn.Sequential(nn.Linear(DIM_IN, 128), nn.ReLU(), nn.Linear(128, 32))
projector = nn.Sequential(nn.Linear(32, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, DIM_Z))
criterion = BarlowTwinsLoss()
optimizer = torch.optim.Adam(list(encoder.parameters()) + list(projector.parameters()), lr=1e-3)

x_train, y_train = sample(4000)
x_test, y_test = sample(1500)

for step in range(1200):
    idx = torch.randint(0, len(x_train), (128,), generator=gen)
    xb = x_train[idx]
    loss, agreement = criterion(projector(encoder(augment(xb))), projector(encoder(augment(xb))))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 300 == 299:
        print(f"step {step + 1}: loss {loss.item():.2f}  mean diagonal {agreement:.3f}")

for p in encoder.parameters():
    p.requires_grad_(False)
encoder.eval()
f_train, f_test = encoder(augment(x_train)), encoder(augment(x_test))
mean, std = f_train.mean(0), f_train.std(0)
f_train, f_test = (f_train - mean) / std, (f_test - mean) / std
probe = nn.Linear(32, N_CLASS)
probe_opt = torch.optim.Adam(probe.parameters(), lr=0.01)
for _ in range(300):
    probe_loss = F.cross_entropy(probe(f_train), y_train)
    probe_opt.zero_grad()
    probe_loss.backward()
    probe_opt.step()
acc = (probe(f_test).argmax(1) == y_test).float().mean().item()
print(f"linear probe accuracy {acc:.3f}")
