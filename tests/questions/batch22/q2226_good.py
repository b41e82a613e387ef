import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
SIGMA_MIN, DIM = 1e-6, 4
MODES = 2.0 * torch.randn(6, DIM)


def data(n):
    return MODES[torch.randint(0, len(MODES), (n,))] + 0.1 * torch.randn(n, DIM)


def mlp(inp):
    return nn.Sequential(nn.Linear(inp, 128), nn.SiLU(), nn.Linear(128, 128), nn.SiLU(), nn.Linear(128, DIM))


class Teacher(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = mlp(DIM + 1)

    def forward(self, x, t):
        return self.net(torch.cat([x, t], 1))

    def loss(self, x):
        z = torch.randn_like(x)
        t = torch.rand(len(x), 1)
        x_t = (1 - (1 - SIGMA_MIN) * t) * z + t * x
        return F.mse_loss(self(x_t, t), x - (1 - SIGMA_MIN) * z)


class Student(nn.Module):
    def __init__(self, teacher, flow_ratio=0.9):
        super().__init__()
        self.net = mlp(DIM + 2)
        self.teacher = [teacher]
        self.flow_ratio = flow_ratio

    def forward(self, x, r, t):
        return self.net(torch.cat([x, r, t], 1))

    def interpolate(self, x, t):
        z = torch.randn_like(x)
        return (1 - t) * x + t * z

    def loss(self, x):
        if torch.rand(1).item() < self.flow_ratio:
            t = torch.rand(len(x), 1)
            z_t = self.interpolate(x, t)
            with torch.no_grad():
                v = -self.teacher[0](z_t, 1 - t)
            return F.mse_loss(self(z_t, t, t), v)
        r, t = torch.rand(len(x), 2).sort(dim=1).values.split(1, dim=1)
        lam = torch.rand(len(x), 1)
        s = (1 - lam) * t + lam * r
        z_t = self.interpolate(x, t)
        with torch.no_grad():
            u2 = self(z_t, s, t)
            z_s = z_t - (t - s) * u2
            u1 = self(z_s, r, s)
            target = (1 - lam) * u1 + lam * u2
        return F.mse_loss(self(z_t, r, t), target)

    @torch.no_grad()
    def sample(self, n, steps):
        z = torch.randn(n, DIM)
        grid = torch.linspace(1, 0, steps + 1)
        for t, r in zip(grid[:-1], grid[1:]):
            z = z - (t - r) * self(z, r.expand(n, 1), t.expand(n, 1))
        return z


def fit(model, params, steps, name):
    opt = torch.optim.Adam(params, lr=2e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, steps)
    for it in range(steps):
        loss = model.loss(data(256))
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
    print(f"{name}: last loss {loss.item():.4f}")


def to_data(points):
    return torch.cdist(points, MODES).min(1).values.mean().item()


teacher = Teacher()
fit(teacher, teacher.parameters(), 1500, "teacher")
teacher.eval().requires_grad_(False)
student = Student(teacher)
fit(student, student.net.parameters(), 2500, "student")
print(f"distance to the nearest mode: data {to_data(data(2000)):.3f}")
for steps in (2, 4, 16):
    print(f"student, {steps} steps: {to_data(student.sample(2000, steps)):.3f}")
