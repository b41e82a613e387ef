import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
np.random.seed(0)
N, OBS, ACT, GAMMA, TAU, HORIZON = 3, 4, 2, 0.95, 0.02, 15


def net(inp, out, tail=None):
    layers = [nn.Linear(inp, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, out)]
    return nn.Sequential(*layers, tail) if tail else nn.Sequential(*layers)


class Env:
    def reset(self):
        self.pos = np.random.uniform(-1, 1, (N, 2)).astype(np.float32)
        self.goal = np.random.uniform(-1, 1, (N, 2)).astype(np.float32)
        return np.concatenate([self.pos, self.goal], 1)

    def step(self, actions):
        self.pos = np.clip(self.pos + 0.25 * actions, -1.5, 1.5).astype(np.float32)
        reward = -np.linalg.norm(self.pos - self.goal, axis=1).mean()
        return np.concatenate([self.pos, self.goal], 1), float(reward)


class Agent:
    def __init__(self):
        self.actor = net(OBS, ACT, nn.Tanh())
        self.critic = net(N * (OBS + ACT), 1)
        self.actor_target = copy.deepcopy(self.actor)
        self.critic_target = copy.deepcopy(self.critic)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=5e-4)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=1e-3)

    def update(self, i, obs, state, actions, reward, next_state, next_actions):
        with torch.no_grad():
            y = reward + GAMMA * self.critic_target(torch.cat([next_state, next_actions], 1))
        critic_loss = F.mse_loss(self.critic(torch.cat([state, actions], 1)), y)
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()
        joint = actions.clone().view(-1, N, ACT)
        joint[:, i] = self.actor(obs)
        actor_loss = -self.critic(torch.cat([state, joint.flatten(1)], 1)).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()
        with torch.no_grad():
            for a, b in ((self.actor, self.actor_target), (self.critic, self.critic_target)):
                for p, q in zip(a.parameters(), b.parameters()):
                    q.lerp_(p, TAU)
        return critic_loss.item()


class MADDPG:
    def __init__(self):
        self.agents = [Agent() for _ in range(N)]

    def act(self, obs, noise):
        with torch.no_grad():
            a = np.stack([g.actor(torch.from_numpy(o)).numpy() for g, o in zip(self.agents, obs)])
        return np.clip(a + noise * np.random.randn(N, ACT), -1, 1).astype(np.float32)

    def update(self, batch):
        obs, actions, rewards, next_obs = (torch.from_numpy(np.stack(c)) for c in zip(*batch))
        rewards = rewards.float().unsqueeze(1)
        losses = []
        for i in range(N):
            obs_i = obs[:, i]
            next_obs_i = next_obs[:, i]
            next_global_actions = []
            for agent in self.agents:
                with torch.no_grad():
                    next_global_actions.append(agent.actor_target(next_obs_i))
            next_global_actions = torch.cat(next_global_actions, 1)
            losses.append(self.agents[i].update(i, obs_i, obs.flatten(1), actions.flatten(1), rewards,
                                                next_obs.flatten(1), next_global_actions))
        return sum(losses) / N


env, team, memory = Env(), MADDPG(), []
for episode in range(160):
    obs, loss = env.reset(), 0.0
    for t in range(HORIZON):
        action = team.act(obs, noise=max(0.1, 0.8 * (1 - episode / 100)))
        nxt, reward = env.step(action)
        memory.append((obs, action, reward, nxt))
        obs = nxt
        if len(memory) >= 300:
            picks = np.random.randint(0, len(memory), 128)
            loss = team.update([memory[k] for k in picks])
    if episode % 40 == 39:
        print(f"episode {episode + 1}  critic loss {loss:.4f}")

returns, values, horizon = [], [], 120
for _ in range(60):
    obs, total = env.reset(), 0.0
    a = team.act(obs, noise=0.0)
    with torch.no_grad():
        s = torch.from_numpy(np.concatenate([obs.ravel(), a.ravel()]))
        values.append(team.agents[0].critic(s).item())
    for t in range(horizon):
        obs, r = env.step(team.act(obs, noise=0.0))
        total += GAMMA ** t * r
    returns.append(total)
print(f"discounted return {np.mean(returns):.3f}  critic's value {np.mean(values):.3f}  "
      f"mean abs difference {np.mean(np.abs(np.array(returns) - np.array(values))):.3f}")
