import torch
import torch.nn as nn
import torch.nn.functional as F


class ConditionalNet(nn.Module):
    """A point of an action trajectory, a time and an observation in; a direction of the same size out."""

    def __init__(self, action=4, obs=3):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(action + 1 + obs, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, action)
        )

    def forward(self, x, t, obs):
        return self.net(torch.cat([x, t[:, None], obs], 1))


class StreamingFlowPolicy:
    def __init__(self, net, sigma=0.1):
        self.velocity_net, self.sigma = net, sigma

    def loss(self, obs, action):
        t = torch.rand(len(obs))
        start = torch.zeros_like(action)
        x = start + t[:, None] * (action - start) + self.sigma * torch.randn_like(action)
        return F.mse_loss(self.velocity_net(x, t, obs), action - start)


class DiffusionPolicy:
    def __init__(self, net, steps=50):
        self.noise_pred_net, self.steps = net, steps
        self.alpha_bar = torch.cumprod(1 - torch.linspace(1e-3, 0.1, steps), 0)

    def loss(self, obs, action):
        k = torch.randint(self.steps, (len(obs),))
        a = self.alpha_bar[k][:, None]
        noise = torch.randn_like(action)
        x = a.sqrt() * action + (1 - a).sqrt() * noise
        return F.mse_loss(self.noise_pred_net(x, k / self.steps, obs), noise)


def demonstrations(n):
    obs = torch.randn(n, 3)
    side = torch.sign(torch.randn(n, 1))
    action = torch.cat([torch.sin(obs), side * obs[:, :1].abs()], 1)
    return obs, action + 0.05 * torch.randn(n, 4)


def train(policy, optimizer, obs, action, name):
    for epoch in range(8):
        total = 0.0
        for rows in torch.randperm(len(obs)).split(64):
            loss = policy.loss(obs[rows], action[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 2 == 1:
            print(f"{name} epoch {epoch}: loss {total / len(obs) * 64:.4f}")


def main():
    torch.manual_seed(0)
    obs, action = demonstrations(2048)
    sfp_velocity_net, dp_noise_pred_net = ConditionalNet(), ConditionalNet()
    sfp, dp = StreamingFlowPolicy(sfp_velocity_net), DiffusionPolicy(dp_noise_pred_net)
    sfp_optimizer = torch.optim.Adam(sfp_velocity_net.parameters(), lr=2e-3)
    train(sfp, sfp_optimizer, obs, action, "streaming flow policy")
    dp_optimizer = torch.optim.Adam(dp_noise_pred_net.parameters(), lr=2e-3)
    train(dp, dp_optimizer, obs, action, "diffusion policy")


if __name__ == "__main__":
    main()
