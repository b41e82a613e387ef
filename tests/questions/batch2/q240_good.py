import torch
import torch.nn as nn
import torch.nn.functional as F


class DiffusionMLP(nn.Module):
    def __init__(self, horizon, action_dim, cond_dim, hidden=128):
        super().__init__()
        self.time = nn.Embedding(50, 16)
        self.net = nn.Sequential(
            nn.Linear(horizon * action_dim + 16 + cond_dim, hidden),
            nn.Mish(),
            nn.Linear(hidden, hidden),
            nn.Mish(),
            nn.Linear(hidden, horizon * action_dim),
        )

    def forward(self, x, t, cond):
        out = self.net(torch.cat([x.flatten(1), self.time(t), cond], dim=-1))
        return out.view_as(x)


class DiffusionModel(nn.Module):
    def __init__(self, network, steps=20, predict_epsilon=False):
        super().__init__()
        self.network, self.steps, self.predict_epsilon = network, steps, predict_epsilon
        betas = torch.linspace(1e-3, 0.3, steps)
        self.register_buffer("alphas_cumprod", torch.cumprod(1 - betas, dim=0))

    def q_sample(self, x_start, t, noise):
        a = self.alphas_cumprod[t].view(-1, 1, 1)
        return a.sqrt() * x_start + (1 - a).sqrt() * noise

    def p_losses(self, x_start, cond, t):
        noise = torch.randn_like(x_start)
        x_noisy = self.q_sample(x_start, t, noise)
        x_recon = self.network(x_noisy, t, cond)
        if self.predict_epsilon:
            return F.mse_loss(x_recon, noise)
        return F.mse_loss(x_recon, x_start)

    def loss(self, x_start, cond):
        t = torch.randint(0, self.steps, (len(x_start),))
        return self.p_losses(x_start, cond, t)

    @torch.no_grad()
    def sample(self, cond, shape):
        x = torch.randn(shape)
        for i in reversed(range(self.steps)):
            t = torch.full((len(x),), i)
            x0 = self.network(x, t, cond)
            x = self.q_sample(x0, t - 1, torch.randn_like(x)) if i > 0 else x0
        return x


def demonstrations(n=64):
    goal = torch.rand(n, 2) * 2 - 1
    steps = torch.linspace(0.25, 1, 4).view(1, 4, 1)
    return goal.unsqueeze(1) * steps + 0.02 * torch.randn(n, 4, 2), goal


torch.manual_seed(0)
model = DiffusionModel(DiffusionMLP(4, 2, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for it in range(400):
    actions, goal = demonstrations()
    loss = model.loss(actions, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 80 == 79:
        actions, goal = demonstrations(128)
        error = (model.sample(goal, actions.shape) - actions).pow(2).mean()
        print(f"it {it} loss {loss.item():.5f} error of samples {error.item():.4f}")
