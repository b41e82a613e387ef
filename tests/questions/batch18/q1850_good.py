import random

import torch
import torch.nn.functional as F
from torch import nn, optim

torch.manual_seed(0)
random.seed(0)
N_STATES, STEPS, GAMMA = 28, 40, 0.9


class RLEnv:
    delta_t = (-50, -25, 0, 25, 50)

    def reset(self):
        self.time = 25 * random.randrange(N_STATES)
        self.reward = 0
        return self.time

    def step(self, action):
        self.time = (self.time + self.delta_t[action]) % 700
        if self.time in (450, 475):
            self.reward = 1
        else:
            self.reward = 0
        return self.time, self.reward


class DQN(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear1 = nn.Linear(N_STATES, 64)
        self.linear2 = nn.Linear(64, 5)

    def forward(self, time):
        state = F.one_hot(time // 25, N_STATES).float()
        return self.linear2(torch.relu(self.linear1(state)))


class Agent:
    def __init__(self):
        self.policy, self.target = DQN(), DQN()
        self.target.load_state_dict(self.policy.state_dict())
        self.optimizer = optim.Adam(self.policy.parameters(), lr=2e-3)
        self.memory = []

    def select_action(self, time, epsilon):
        if random.random() < epsilon:
            return random.randrange(5)
        with torch.no_grad():
            return self.policy(torch.tensor([time])).argmax().item()

    def learn(self, batch_size=64):
        batch = random.sample(self.memory, batch_size)
        time, action, reward, next_time = (torch.tensor(column) for column in zip(*batch))
        q = self.policy(time).gather(1, action.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            expected = reward.float() + GAMMA * self.target(next_time).max(dim=1).values
        loss = F.smooth_l1_loss(q, expected)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


env, agent = RLEnv(), Agent()
for episode in range(60):
    time, total, at_goal = env.reset(), 0, 0
    epsilon = max(0.05, 0.9 - episode / 40)
    for _ in range(STEPS):
        action = agent.select_action(time, epsilon)
        next_time, reward = env.step(action)
        agent.memory.append((time, action, reward, next_time))
        time, total, at_goal = next_time, total + reward, at_goal + (next_time in (450, 475))
        if len(agent.memory) >= 64:
            agent.learn()
    agent.target.load_state_dict(agent.policy.state_dict())
    if (episode + 1) % 15 == 0:
        print(f"episode {episode + 1}: reward {total}, steps at 450 or 475: {at_goal} of {STEPS}")

at_goal = 0
for start in range(0, 700, 25):
    env.reset()
    env.time = start
    for _ in range(20):
        at_goal += env.step(agent.select_action(env.time, 0.0))[0] in (450, 475)
print(f"greedy policy: {100 * at_goal / (28 * 20):.0f}% of the steps at 450 or 475")
