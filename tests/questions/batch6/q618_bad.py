import torch
from torch import nn

torch.manual_seed(0)


class A2C(nn.Module):
    def __init__(self, n_features=2, n_actions=2, n_envs=16):
        super().__init__()
        self.n_envs = n_envs
        self.critic = nn.Sequential(nn.Linear(n_features, 32), nn.Tanh(), nn.Linear(32, 1))
        self.actor = nn.Sequential(nn.Linear(n_features, 32), nn.Tanh(), nn.Linear(32, n_actions))
        self.critic_optim = torch.optim.RMSprop(self.critic.parameters(), lr=0.005)
        self.actor_optim = torch.optim.RMSprop(self.actor.parameters(), lr=0.002)

    def select_action(self, x):
        policy = torch.distributions.Categorical(logits=self.actor(x))
        actions = policy.sample()
        return actions, policy.log_prob(actions), self.critic(x).squeeze(1), policy.entropy()

    def get_losses(self, rewards, action_log_probs, value_preds, entropy, masks, gamma=0.99, lam=0.95):
        T = len(rewards)
        advantages = torch.zeros(T, self.n_envs)
        gae = 0.0
        for t in reversed(range(T - 1)):
            td_error = rewards[t] + gamma * masks[t] * value_preds[t + 1] - value_preds[t]
            gae = td_error + gamma * lam * masks[t] * gae
            advantages[t] = gae
        critic_loss = advantages.pow(2).mean()
        actor_loss = -(advantages.detach() * action_log_probs).mean() - 0.01 * entropy.mean()
        return critic_loss, actor_loss

    def update_parameters(self, critic_loss, actor_loss):
        self.critic_optim.zero_grad()
        critic_loss.backward()
        self.critic_optim.step()
        self.actor_optim.zero_grad()
        actor_loss.backward()
        self.actor_optim.step()


class Walk:
    def __init__(self, n):
        self.n = n
        self.position, self.time = torch.zeros(n), torch.zeros(n)

    def observe(self):
        return torch.stack([self.position / 4, self.time / 20], 1)

    def step(self, actions):
        self.position = self.position + (2 * actions - 1) + 0.5 * torch.randn(self.n)
        self.time = self.time + 1
        reward = (self.position.abs() < 1.5).float()
        done = (self.time >= 20) | (self.position.abs() > 6)
        self.position = torch.where(done, torch.zeros(self.n), self.position)
        self.time = torch.where(done, torch.zeros(self.n), self.time)
        return reward, (~done).float()


agent, envs = A2C(), Walk(16)
for phase in range(1, 121):
    values, rewards, log_probs, masks, entropies = [], [], [], [], []
    for _ in range(32):
        action, log_prob, value, entropy = agent.select_action(envs.observe())
        reward, mask = envs.step(action)
        values.append(value)
        rewards.append(reward)
        log_probs.append(log_prob)
        masks.append(mask)
        entropies.append(entropy)
    critic_loss, actor_loss = agent.get_losses(
        torch.stack(rewards),
        torch.stack(log_probs),
        torch.stack(values),
        torch.stack(entropies),
        torch.stack(masks),
    )
    agent.update_parameters(critic_loss, actor_loss)
    if phase % 20 == 0:
        mean = torch.stack(rewards).mean().item()
        print(
            f"phase {phase}: reward {mean:.3f}, critic {critic_loss:.4f}, value {torch.stack(values).mean():.3f}"
        )
