import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)
torch.set_num_threads(1)

GAMMA = 0.95
STEPS = 40
GOAL = 6


class Corridor:
    def reset(self):
        self.pos = 0
        return self.observe()

    def observe(self):
        x = torch.zeros(GOAL + 1)
        x[self.pos] = 1.0
        return x

    def step(self, action):
        self.pos = max(0, min(GOAL, self.pos + (1 if action == 1 else -1)))
        reward = 1.0 if self.pos == GOAL else 0.0
        if self.pos == GOAL:
            self.pos = 0
        return self.observe(), reward


def normalize_advantages(advantages, variance_epsilon=1e-8):
    mean = advantages.mean(dim=0, keepdim=True)
    var = advantages.var(dim=0, keepdim=True, unbiased=False)
    return (advantages - mean) / torch.sqrt(var + variance_epsilon)


actor = nn.Sequential(nn.Linear(GOAL + 1, 32), nn.Tanh(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(GOAL + 1, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(list(actor.parameters()) + list(critic.parameters()), lr=3e-3)
env = Corridor()

recent = []
for episode in range(300):
    obs, states, actions, rewards = env.reset(), [], [], []
    for _ in range(STEPS):
        with torch.no_grad():
            action = Categorical(logits=actor(obs)).sample().item()
        states.append(obs)
        actions.append(action)
        obs, reward = env.step(action)
        rewards.append(reward)

    returns, running = [], 0.0
    for reward in reversed(rewards):
        running = reward + GAMMA * running
        returns.insert(0, running)

    batch_states = torch.stack(states).unsqueeze(0)
    batch_actions = torch.tensor(actions).unsqueeze(0)
    batch_returns = torch.tensor(returns).unsqueeze(0)

    values = critic(batch_states).squeeze(-1)
    advantages = normalize_advantages(batch_returns - values.detach())
    dist = Categorical(logits=actor(batch_states))
    policy_loss = -(dist.log_prob(batch_actions) * advantages).mean()
    value_loss = (batch_returns - values).pow(2).mean()
    loss = policy_loss + 0.5 * value_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

    recent.append(sum(rewards))
    if episode % 50 == 49:
        print(f"episode {episode + 1}: reward {sum(recent[-50:]) / 50:.2f} "
              f"policy loss {policy_loss.item():.5f} value loss {value_loss.item():.4f}")
