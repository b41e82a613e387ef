import copy
import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F


class Pole:
    def __init__(self, limit=0.4, longest=120):
        self.limit, self.longest = limit, longest

    def reset(self):
        self.angle, self.speed, self.t = random.uniform(-0.1, 0.1), random.uniform(-0.1, 0.1), 0
        return [self.angle, self.speed]

    def step(self, action):
        push = 1.0 if action == 1 else -1.0
        self.speed += 0.1 * (2.0 * math.sin(self.angle) + push + random.gauss(0, 0.3))
        self.angle += 0.1 * self.speed
        self.t += 1
        return [self.angle, self.speed], 1.0, abs(self.angle) > self.limit, self.t >= self.longest


class ReplayBuffer:
    def __init__(self, capacity):
        self.capacity, self.memory = capacity, []

    def push(self, *transition):
        self.memory.append(transition)
        self.memory = self.memory[-self.capacity :]

    def sample_batch(self, batch_size):
        s, a, s1, r, done = zip(*random.sample(self.memory, batch_size))
        return torch.tensor(s), torch.tensor(a), torch.tensor(s1), torch.tensor(r), torch.tensor(done).float()


class DQN:
    def __init__(self, gamma=0.95):
        self.gamma = gamma
        self.current_model = nn.Sequential(
            nn.Linear(2, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2)
        )
        self.target_model = copy.deepcopy(self.current_model)
        self.optim = torch.optim.Adam(self.current_model.parameters(), lr=1e-3)

    def act(self, state, epsilon):
        if random.random() < epsilon:
            return random.randrange(2)
        with torch.no_grad():
            return self.current_model(torch.tensor(state)).argmax().item()

    def calc_td_loss(self, states, actions, next_states, rewards, done):
        q = self.current_model(states).gather(1, actions[:, None]).squeeze(1)
        with torch.no_grad():
            next_q = self.target_model(next_states).max(dim=1)[0]
        target = rewards + self.gamma * next_q * (1 - done)
        return F.smooth_l1_loss(q, target), q.mean().item()

    def train(self, batch):
        loss, q = self.calc_td_loss(*batch)
        self.optim.zero_grad()
        loss.backward()
        self.optim.step()
        return q


def main():
    torch.manual_seed(0)
    random.seed(0)
    env, buffer, agent = Pole(), ReplayBuffer(4000), DQN()
    steps, lengths, q = 0, [], 0.0
    state = env.reset()
    while steps < 4000:
        action = agent.act(state, epsilon=max(0.1, 1 - steps / 2500))
        next_state, reward, done, cut = env.step(action)
        buffer.push(state, action, next_state, reward, done)
        state = next_state
        steps += 1
        if done or cut:
            lengths.append(env.t)
            state = env.reset()
        if steps > 200 and steps % 2 == 0:
            q = agent.train(buffer.sample_batch(64))
        if steps % 100 == 0:
            agent.target_model.load_state_dict(agent.current_model.state_dict())
        if steps % 800 == 0:
            print(f"step {steps}: episodes {len(lengths):3d}  last lengths {lengths[-8:]}  mean Q {q:.2f}")


if __name__ == "__main__":
    main()
