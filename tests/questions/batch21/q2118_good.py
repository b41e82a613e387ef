import torch
import torch.nn as nn

torch.manual_seed(7)
NOISE, COLS, N_TEACHERS, BATCH = 8, 4, 5, 64


def table(n, gen):
    kind = torch.randint(0, 2, (n,), generator=gen).float()
    a = 2.0 * kind - 1.0 + 0.3 * torch.randn(n, generator=gen)
    b = 0.8 * a + 0.4 * torch.randn(n, generator=gen)
    c = 1.5 + 0.5 * torch.randn(n, generator=gen)
    d = -1.0 + 0.5 * c + 0.3 * torch.randn(n, generator=gen)
    return torch.stack([a, b, c, d], 1)


def mlp(n_in, n_out, width=48):
    return nn.Sequential(
        nn.Linear(n_in, width), nn.LeakyReLU(0.2),
        nn.Linear(width, width), nn.LeakyReLU(0.2),
        nn.Linear(width, n_out),
    )


gen = torch.Generator().manual_seed(2)
data = table(3000, gen) / 4
parts = data.chunk(N_TEACHERS)

generator = nn.Sequential(mlp(NOISE, COLS), nn.Tanh())
student = mlp(COLS, 1)
teachers = [mlp(COLS, 1) for _ in range(N_TEACHERS)]

optimizer_g = torch.optim.Adam(generator.parameters(), lr=3e-4, betas=(0.5, 0.9))
optimizer_s = torch.optim.Adam(student.parameters(), lr=1e-3, betas=(0.5, 0.9))
optimizer_t = [torch.optim.Adam(t.parameters(), lr=1e-3, betas=(0.5, 0.9)) for t in teachers]
criterion = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(BATCH, 1), torch.zeros(BATCH, 1)


def vote(x):
    with torch.no_grad():
        ballots = torch.stack([(t(x) > 0).float() for t in teachers]).sum(0)
    noisy = ballots + torch.distributions.Laplace(0.0, 0.3).sample(ballots.shape)
    return (noisy > N_TEACHERS / 2).float()


agree = []
for step in range(700):
    for t, opt, part in zip(teachers, optimizer_t, parts):
        real = part[torch.randint(0, len(part), (BATCH,))]
        fake = generator(torch.randn(BATCH, NOISE)).detach()
        opt.zero_grad()
        loss_t = criterion(t(real), ones) + criterion(t(fake), zeros)
        loss_t.backward()
        opt.step()

    for _ in range(5):
        noise = torch.randn(BATCH, NOISE)
        fake = generator(noise).detach() + 0.25 * torch.randn(BATCH, COLS)
        labels = vote(fake)
        optimizer_s.zero_grad()
        out = student(fake)
        loss_s = criterion(out, labels)
        loss_s.backward()
        optimizer_s.step()
    agree.append(((out > 0).float() == labels).float().mean().item())

    optimizer_g.zero_grad()
    loss_g = criterion(student(generator(torch.randn(BATCH, NOISE))), ones)
    loss_g.backward()
    optimizer_g.step()

with torch.no_grad():
    made = generator(torch.randn(3000, NOISE))
print(f"student loss {loss_s.item():.4f}  generator loss {loss_g.item():.4f}")
print(f"student agrees with the vote {sum(agree[-200:]) / 200:.4f}")
print(f"distance of means {(made.mean(0) - data.mean(0)).norm().item():.4f}")
print(f"distance of covariances {(made.T.cov() - data.T.cov()).norm().item():.4f}")
