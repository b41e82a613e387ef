import random

import torch
import torch.nn as nn
import torch.nn.functional as F


class Corridor:
    def __init__(self, length=6):
        self.length = length

    def reset(self):
        self.position, self.time = random.randrange(self.length - 1), 0
        return self.state()

    def state(self):
        return F.one_hot(torch.tensor(self.position), self.length).float()

    def step(self, action):
        self.time += 1
        self.position = max(0, self.position + (1 if action == 1 else -1))
        done = self.position == self.length - 1 or self.time == 20
        reward = 1.0 if self.position == self.length - 1 else -0.1
        return self.state(), reward, done


class DuelingDQN(nn.Module):
    def __init__(self, inputs, actions):
        super().__init__()
        self.feature = nn.Sequential(nn.Linear(inputs, 32), nn.ReLU())
        self.value = nn.Linear(32, 1)
        self.advantage = nn.Linear(32, actions)

    def forward(self, state):
        h = self.feature(state)
        advantage = self.advantage(h)
        return self.value(h) + advantage - advantage.mean(dim=1, keepdim=True)


def compute_loss(model, target_model, batch, gamma=0.99):
    states, actions, rewards, next_states, dones = zip(*batch)
    states, next_states = torch.stack(states), torch.stack(next_states)
    actions, rewards = torch.tensor(actions), torch.tensor(rewards)
    dones = torch.tensor(dones, dtype=torch.float32)
    current = model(states).gather(1, actions.unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        best = model(next_states).argmax(1, keepdim=True)
        next_value = target_model(next_states).gather(1, best).squeeze(1)
    target = rewards + gamma * next_value
    return F.mse_loss(current, target)


torch.manual_seed(0)
random.seed(0)
env, model, target_model = Corridor(), DuelingDQN(6, 2), DuelingDQN(6, 2)
target_model.load_state_dict(model.state_dict())
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
memory, updates = [], 0
for episode in range(120):
    state, done, score = env.reset(), False, 0.0
    while not done:
        explore = random.random() < 0.2
        action = random.randrange(2) if explore else model(state.unsqueeze(0)).argmax().item()
        next_state, reward, done = env.step(action)
        memory.append((state, action, reward, next_state, done))
        state, score = next_state, score + reward
        if len(memory) > 64:
            loss = compute_loss(model, target_model, random.sample(memory, 32))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            updates += 1
            if updates % 20 == 0:
                target_model.load_state_dict(model.state_dict())
    if episode % 20 == 19:
        value = model(env.reset().unsqueeze(0)).max().item()
        print(f"episode {episode} score {score:.2f} loss {loss.item():.4f} value {value:.2f}")
