import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(1)

SYMBOLS, ACTIONS, EPISODE = 5, 3, 6
GAMMA, LAM, CLIP = 0.99, 0.95, 0.2
UPDATES, SEGMENT, EPOCHS, MINIBATCH = 60, 384, 4, 96

answer_key = torch.randint(0, ACTIONS, (EPISODE, SYMBOLS))


class RecallGame:
    def reset(self):
        self.t, self.right = 0, 0
        self.symbol = int(torch.randint(0, SYMBOLS, (1,)))
        return self.observe()

    def observe(self):
        obs = torch.zeros(EPISODE + SYMBOLS)
        obs[min(self.t, EPISODE - 1)] = 1.0
        obs[EPISODE + self.symbol] = 1.0
        return obs

    def step(self, action):
        self.right += int(action == answer_key[self.t, self.symbol])
        self.t += 1
        self.symbol = int(torch.randint(0, SYMBOLS, (1,)))
        done = self.t == EPISODE
        reward = self.right / EPISODE if done else 0.0
        return self.observe(), reward, done


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        size = EPISODE + SYMBOLS
        self.pi = nn.Sequential(nn.Linear(size, 64), nn.Tanh(), nn.Linear(64, ACTIONS))
        self.v = nn.Sequential(nn.Linear(size, 64), nn.Tanh(), nn.Linear(64, 1))

    def forward(self, obs):
        return Categorical(logits=self.pi(obs)), self.v(obs).squeeze(-1)


def advantages_and_returns(rewards, values, dones, last_value):
    advantages = torch.zeros_like(rewards)
    carry, next_value = 0.0, last_value
    for t in reversed(range(len(rewards))):
        alive = 1.0 - dones[t]
        td_error = rewards[t] + GAMMA * next_value * alive - values[t]
        advantages[t] = td_error + GAMMA * LAM * alive * carry
        next_value = values[t]
        carry = advantages[t]
    return advantages, advantages + values


env, net = RecallGame(), ActorCritic()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
obs, scores = env.reset(), []
for update in range(UPDATES):
    seg = {k: [] for k in ("obs", "act", "logp", "rew", "val", "done")}
    for _ in range(SEGMENT):
        with torch.no_grad():
            dist, value = net(obs)
            action = dist.sample()
        nxt, reward, done = env.step(int(action))
        for k, x in zip(seg, (obs, action, dist.log_prob(action), torch.tensor(reward),
                              value, torch.tensor(float(done)))):
            seg[k].append(x)
        if done:
            scores.append(reward)
            nxt = env.reset()
        obs = nxt
    seg = {k: torch.stack(x) for k, x in seg.items()}
    with torch.no_grad():
        last_value = net(obs)[1]
    adv, ret = advantages_and_returns(seg["rew"], seg["val"], seg["done"], last_value)
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    for _ in range(EPOCHS):
        for idx in torch.randperm(SEGMENT).split(MINIBATCH):
            dist, value = net(seg["obs"][idx])
            ratio = (dist.log_prob(seg["act"][idx]) - seg["logp"][idx]).exp()
            policy = -torch.min(ratio * adv[idx], ratio.clamp(1 - CLIP, 1 + CLIP) * adv[idx]).mean()
            loss = policy + 0.5 * (value - ret[idx]).pow(2).mean() - 0.005 * dist.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            optimizer.step()
    if update % 15 == 0:
        print(f"update {update:3d}  score {sum(scores[-60:]) / 60:.3f}")

print(f"score over the last 200 episodes: {sum(scores[-200:]) / 200:.3f}")
