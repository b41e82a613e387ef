import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical


class Corridor:
    """Walk to the right end; each step costs a little."""

    def __init__(self, length=6):
        self.length = length

    def reset(self):
        self.pos, self.steps = 0, 0
        return self.obs()

    def obs(self):
        return F.one_hot(torch.tensor(self.pos), self.length).float()

    def step(self, action):
        self.steps += 1
        self.pos = max(0, self.pos + (1 if action == 1 else -1))
        done = self.pos == self.length - 1
        return self.obs(), (1.0 if done else -0.05), done or self.steps >= 30


class ActorNet(nn.Module):
    def __init__(self, state_dim, action_dim):
        super().__init__()
        self.fc1 = nn.Linear(state_dim, 32)
        self.fc2 = nn.Linear(32, action_dim)

    def forward(self, x):
        return F.softmax(self.fc2(F.relu(self.fc1(x))), dim=-1)


class ValueNet(nn.Module):
    def __init__(self, state_dim):
        super().__init__()
        self.fc1 = nn.Linear(state_dim, 32)
        self.fc2 = nn.Linear(32, 1)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


class Worker:
    def __init__(self, env, gamma=0.98):
        self.env, self.gamma = env, gamma
        self.actor = ActorNet(env.length, 2)
        self.critic = ValueNet(env.length)
        params = list(self.actor.parameters()) + list(self.critic.parameters())
        self.optimizer = torch.optim.Adam(params, lr=5e-3)
        self.memory = []

    def act(self, state):
        dist = Categorical(self.actor(state))
        action = dist.sample()
        return action.item(), dist.log_prob(action)

    def discounted_rewards(self):
        returns, total = [], 0.0
        for _, _, reward in reversed(self.memory):
            total = reward + self.gamma * total
            returns.insert(0, total)
        return torch.tensor(returns)

    def learn(self):
        states = torch.stack([t[0] for t in self.memory])
        log_probs = torch.stack([t[1] for t in self.memory])
        returns = self.discounted_rewards()
        values = self.critic(states).squeeze(-1)
        advantages = (returns - values).detach()
        actor_loss = -(log_probs * advantages).mean()
        critic_loss = F.mse_loss(values, returns)
        loss = actor_loss + critic_loss
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.memory = []
        return actor_loss.item(), critic_loss.item()

    def run_episode(self):
        state, done, score = self.env.reset(), False, 0.0
        while not done:
            action, log_prob = self.act(state)
            next_state, reward, done = self.env.step(action)
            self.memory.append((state, log_prob, reward))
            state, score = next_state, score + reward
        return score


torch.manual_seed(3)
worker = Worker(Corridor())
scores = []
for episode in range(200):
    scores.append(worker.run_episode())
    actor_loss, critic_loss = worker.learn()
    if episode % 40 == 39:
        mean = sum(scores[-40:]) / 40
        print(f"episode {episode}: score {mean:.3f} actor {actor_loss:.4f} critic {critic_loss:.4f}")
