import torch
from torch import nn

torch.manual_seed(14)

OBS, ACT, STEPS, GAMMA = 3, 2, 256, 0.9


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(OBS, 32), nn.Tanh(), nn.Linear(32, ACT))
        self.critic = nn.Sequential(nn.Linear(OBS, 32), nn.Tanh(), nn.Linear(32, 1))

    def value(self, obs):
        return self.critic(obs)


def rollout(agent):
    obs = torch.randn(STEPS, OBS)
    with torch.no_grad():
        dist = torch.distributions.Categorical(logits=agent.actor(obs))
        actions = dist.sample()
        log_probs = dist.log_prob(actions)
    rewards = torch.where(actions == (obs[:, 0] > 0).long(), 1.0, -1.0) + 2.0 * obs[:, 1]
    ends = torch.arange(STEPS) % 2 == 1
    returns = torch.zeros(1, STEPS)
    running = 0.0
    for t in reversed(range(STEPS)):
        running = float(rewards[t]) + GAMMA * running * (0.0 if ends[t] else 1.0)
        returns[0, t] = running
    return obs.unsqueeze(0), actions.unsqueeze(0), log_probs.unsqueeze(0), returns, rewards.mean().item()


agent = Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=5e-3)

for update in range(1, 41):
    obs, actions, old_log_probs, returns, mean_reward = rollout(agent)
    with torch.no_grad():
        baseline = agent.value(obs).squeeze(-1)
        advantages = returns - baseline
        explained = 1 - advantages.var() / returns.var()
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    for _ in range(4):
        for idx in torch.randperm(STEPS).split(64):
            dist = torch.distributions.Categorical(logits=agent.actor(obs[:, idx]))
            ratio = (dist.log_prob(actions[:, idx]) - old_log_probs[:, idx]).exp()
            adv = advantages[:, idx]
            policy_loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
            critic_values = agent.value(obs[:, idx]).squeeze(-1)
            value_loss = 0.5 * (critic_values - returns[:, idx]).pow(2).mean()
            loss = policy_loss + value_loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    if update % 8 == 0:
        print(f"update {update:2d}  reward {mean_reward:.3f}  value loss {value_loss.item():.3f}  "
              f"explained variance {explained.item():.3f}")
