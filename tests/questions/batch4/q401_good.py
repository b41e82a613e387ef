import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(7)


class PolicyNetwork(nn.Module):
    def __init__(self, obs_dims, action_dims):
        super().__init__()
        self.shared_net = nn.Sequential(nn.Linear(obs_dims, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh())
        self.policy_mean_net = nn.Linear(32, action_dims)
        self.policy_std_net = nn.Linear(32, action_dims)

    def forward(self, x):
        features = self.shared_net(x)
        means = self.policy_mean_net(features)
        stddevs = torch.log(1 + torch.exp(self.policy_std_net(features)))
        return means, stddevs


class Tracker:
    """The agent sees a vector and has to answer with a number that depends on it."""

    def __init__(self):
        self.direction = torch.tensor([1.0, -0.7, 0.4])

    def reset(self):
        self.t = 0
        self.obs = torch.randn(3)
        return self.obs

    def step(self, action):
        target = torch.tanh(self.obs @ self.direction)
        reward = 1.0 - (action - target).abs().clamp(max=2.0).item()
        self.t += 1
        self.obs = torch.randn(3)
        return self.obs, reward, self.t >= 12


class REINFORCE:
    def __init__(self, obs_dims, action_dims):
        self.gamma = 0.3
        self.eps = 1e-6
        self.probs = []
        self.rewards = []
        self.net = PolicyNetwork(obs_dims, action_dims)
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=1e-3)

    def sample_action(self, state):
        means, stddevs = self.net(state)
        distrib = Normal(means[0] + self.eps, stddevs[0] + self.eps)
        action = distrib.sample()
        self.probs.append(distrib.log_prob(action))
        return action

    def update(self):
        running_g = 0
        gs = []
        for R in self.rewards[::-1]:
            running_g = R + self.gamma * running_g
            gs.insert(0, running_g)

        deltas = torch.tensor(gs)
        log_probs = torch.stack(self.probs)
        loss = -torch.sum(log_probs * deltas)

        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

        self.probs = []
        self.rewards = []


env = Tracker()
agent = REINFORCE(3, 1)
history = []
for episode in range(300):
    obs = env.reset()
    done = False
    total = 0.0
    while not done:
        action = agent.sample_action(obs)
        obs, reward, done = env.step(action)
        agent.rewards.append(reward)
        total += reward
    history.append(total)
    agent.update()
    if (episode + 1) % 100 == 0:
        print(f"episode {episode + 1}: average reward {sum(history[-100:]) / 100:.3f}")
