import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.set_num_threads(1)
torch.manual_seed(0)
np.random.seed(0)


class SignalEnv:
    n_obs, n_actions, horizon = 6, 3, 20

    def reset(self):
        self.t = 0
        self.obs = np.random.randint(self.n_obs)
        return self._state()

    def _state(self):
        s = np.zeros(self.n_obs, dtype=np.float32)
        s[self.obs] = 1.0
        return s

    def step(self, action):
        reward = 1.0 if action == self.obs % 3 else -0.5
        self.t += 1
        self.obs = np.random.randint(self.n_obs)
        return self._state(), reward, self.t >= self.horizon


class PolicyNet(nn.Module):
    def __init__(self, n_obs, n_actions):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_obs, 24), nn.ReLU(), nn.Linear(24, n_actions))

    def forward(self, x):
        return Categorical(logits=self.net(x))


class Agent:
    def __init__(self, env, gamma=0.5, lr=5e-3):
        self.policy = PolicyNet(env.n_obs, env.n_actions)
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=lr)
        self.gamma = gamma

    def get_action(self, state):
        with torch.no_grad():
            return self.policy(torch.from_numpy(state)).sample().item()

    def train(self, states, rewards, actions):
        discounted_rewards = []
        reward_sum = 0
        for r in rewards[::-1]:
            reward_sum = r + self.gamma * reward_sum
            discounted_rewards.append(reward_sum)
            discounted_rewards.reverse()
        returns = torch.tensor(discounted_rewards, dtype=torch.float32)
        returns = (returns - returns.mean()) / (returns.std() + 1e-8)
        dist = self.policy(torch.from_numpy(np.stack(states)))
        loss = -(dist.log_prob(torch.tensor(actions)) * returns).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


env = SignalEnv()
agent = Agent(env)
history, losses = [], []
for episode in range(1, 401):
    states, rewards, actions = [], [], []
    state, done = env.reset(), False
    while not done:
        action = agent.get_action(state)
        next_state, reward, done = env.step(action)
        states.append(state)
        rewards.append(reward)
        actions.append(action)
        state = next_state
    losses.append(agent.train(states, rewards, actions))
    history.append(sum(rewards))
    if episode % 50 == 0:
        print(f"episode {episode} loss {np.mean(losses[-50:]):.4f} "
              f"mean episode reward {np.mean(history[-50:]):.3f}")
