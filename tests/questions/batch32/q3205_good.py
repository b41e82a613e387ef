import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(3)


class Corridor:
    def __init__(self, length=7):
        self.length = length

    def reset(self):
        self.pos = self.length // 2
        self.t = 0
        return self.state()

    def state(self):
        s = torch.zeros(self.length)
        s[self.pos] = 1.0
        return s

    def step(self, action):
        self.t += 1
        self.pos = max(0, min(self.length - 1, self.pos + (1 if action == 1 else -1)))
        if self.pos == self.length - 1:
            return self.state(), 1.0, True
        return self.state(), -0.05, self.t >= 20


class Net(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(in_dim, 32), nn.Tanh(), nn.Linear(32, out_dim))
        self.optim = torch.optim.Adam(self.parameters(), lr=0.01)

    def forward(self, x):
        return self.model(x)

    def training_step(self, loss):
        self.optim.zero_grad()
        loss.backward()
        self.optim.step()


class Reinforce:
    def __init__(self, net, gamma=0.95):
        self.net = net
        self.gamma = gamma
        self.reset()

    def reset(self):
        self.log_probs = []
        self.rewards = []

    def act(self, state):
        pd = Categorical(logits=self.net(state))
        action = pd.sample()
        self.log_probs.append(pd.log_prob(action))
        return action.item()

    def calc_policy_loss(self):
        returns, g = [], 0.0
        for r in reversed(self.rewards):
            g = r + self.gamma * g
            returns.insert(0, g)
        advs = torch.tensor(returns)
        log_probs = torch.stack(self.log_probs)
        return -(log_probs * advs).sum()

    def train(self):
        loss = self.calc_policy_loss()
        self.net.training_step(loss)
        self.reset()
        return loss.item()


def main():
    env = Corridor()
    agent = Reinforce(Net(7, 2))
    recent = []
    for episode in range(240):
        state, done, total = env.reset(), False, 0.0
        while not done:
            action = agent.act(state)
            state, reward, done = env.step(action)
            agent.rewards.append(reward)
            total += reward
        loss = agent.train()
        recent.append(total)
        if episode % 40 == 39:
            print(episode, "return", round(sum(recent[-40:]) / 40, 3), "loss", round(loss, 3))


if __name__ == "__main__":
    main()
