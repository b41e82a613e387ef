import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(1)


class LineWorld:
    def __init__(self, size=9):
        self.size = size

    def reset(self):
        self.pos, self.t = self.size // 2, 0
        return self.obs()

    def obs(self):
        return F.one_hot(torch.tensor(self.pos), self.size).float()

    def step(self, action):
        self.pos += 1 if action == 1 else -1
        self.t += 1
        done = self.pos in (0, self.size - 1) or self.t >= 30
        reward = 1.0 if self.pos == self.size - 1 else -0.02
        return self.obs(), reward, done


class ActorCritic(nn.Module):
    def __init__(self, n_obs=9, hidden=64, n_actions=2):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_obs, hidden), nn.Tanh())
        self.policy_head = nn.Linear(hidden, n_actions)
        self.value_head = nn.Linear(hidden, 1)

    def forward(self, obs):
        h = self.body(obs)
        return self.policy_head(h), self.value_head(h).squeeze(-1)


def rollout(env, net):
    obs, done = env.reset(), False
    log_probs, values, rewards = [], [], []
    while not done:
        logits, value = net(obs)
        dist = torch.distributions.Categorical(logits=logits)
        action = dist.sample()
        obs, reward, done = env.step(action.item())
        log_probs.append(dist.log_prob(action))
        values.append(value.item())
        rewards.append(reward)
    return log_probs, values, rewards


def gae(rewards, values, gamma=0.99, lam=0.95):
    adv, last = [], 0.0
    values = values + [0.0]
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * values[t + 1] - values[t]
        last = delta + gamma * lam * last
        adv.insert(0, last)
    return torch.tensor(adv)


env = LineWorld()
net = ActorCritic()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)

for epoch in range(40):
    policy_loss, value_loss, returns_log = 0.0, 0.0, []
    for _ in range(8):
        log_probs, values, rewards = rollout(env, net)
        values_t = torch.tensor(values)
        advantages = gae(rewards, values)
        returns = advantages + values_t
        policy_loss = policy_loss - (torch.stack(log_probs) * advantages).mean()
        value_loss = value_loss + F.mse_loss(values_t, returns)
        returns_log.append(sum(rewards))
    loss = (policy_loss + 0.5 * value_loss) / 8
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 8 == 7:
        print(f"epoch {epoch + 1}: return {sum(returns_log) / 8:.3f} value loss {value_loss.item() / 8:.4f}")
