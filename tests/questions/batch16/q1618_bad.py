import torch
import torch.nn as nn
import torch.nn.functional as F


class ActorNetwork(nn.Module):
    def __init__(self, input_dims, max_action, n_actions):
        super().__init__()
        self.max_action, self.reparam_noise = max_action, 1e-6
        self.body = nn.Sequential(nn.Linear(input_dims, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.mu, self.sigma = nn.Linear(64, n_actions), nn.Linear(64, n_actions)

    def forward(self, state):
        prob = self.body(state)
        return self.mu(prob), self.sigma(prob).clamp(-4, 1).exp()

    def sample_normal(self, state):
        mu, sigma = self.forward(state)
        probabilities = torch.distributions.Normal(mu, sigma, validate_args=False)
        actions = probabilities.rsample()
        action = torch.tanh(actions) * self.max_action
        log_probs = probabilities.log_prob(actions)
        log_probs = log_probs - torch.log(1 - action.pow(2) + self.reparam_noise)
        return action, log_probs.sum(1, keepdim=True)


class CriticNetwork(nn.Module):
    def __init__(self, input_dims, n_actions):
        super().__init__()
        self.q = nn.Sequential(nn.Linear(input_dims + n_actions, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, state, action):
        return self.q(torch.cat([state, action], dim=1))


class ValueNetwork(nn.Module):
    def __init__(self, input_dims):
        super().__init__()
        self.v = nn.Sequential(nn.Linear(input_dims, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, state):
        return self.v(state)


def env_reward(state, action):
    wanted = 1.6 * torch.sin(2 * state[:, :1])
    return 1.0 - (action - wanted).pow(2).sum(1, keepdim=True)


def main():
    torch.manual_seed(0)
    alpha, gamma, max_action = 0.05, 0.5, 2.0
    actor, critic, value = ActorNetwork(3, max_action, 1), CriticNetwork(3, 1), ValueNetwork(3)
    actor_optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
    critic_optimizer = torch.optim.Adam(critic.parameters(), lr=3e-3)
    value_optimizer = torch.optim.Adam(value.parameters(), lr=3e-3)
    for step in range(1, 601):
        state = torch.rand(64, 3) * 2 - 1
        with torch.no_grad():
            action, _ = actor.sample_normal(state)
            reward = env_reward(state, action)
            q_hat = reward + gamma * value(torch.rand(64, 3) * 2 - 1)
        critic_loss = F.mse_loss(critic(state, action), q_hat)
        critic_optimizer.zero_grad()
        critic_loss.backward()
        critic_optimizer.step()
        action, log_probs = actor.sample_normal(state)
        value_target = (critic(state, action) - alpha * log_probs).detach()
        value_loss = F.mse_loss(value(state), value_target)
        value_optimizer.zero_grad()
        value_loss.backward()
        value_optimizer.step()
        actor_loss = (alpha * log_probs - critic(state, action)).mean()
        actor_optimizer.zero_grad()
        actor_loss.backward()
        actor_optimizer.step()
        if step in (1, 2, 3, 200, 400, 600):
            print(
                f"step {step:4d}: reward {reward.mean().item():.4f}  critic loss {critic_loss.item():.4f}"
                f"  actor loss {actor_loss.item():.4f}  log prob {log_probs.mean().item():.4f}"
            )


if __name__ == "__main__":
    main()
