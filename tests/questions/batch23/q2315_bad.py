import numpy as np
import torch
from torch import nn

torch.manual_seed(4)
rng = np.random.default_rng(4)

GAMMA = 0.9
STEPS = 30
EPISODES = 500
CAPACITY = 12


class Shop:
    def reset(self):
        self.stock = int(rng.integers(0, 6))
        self.day = 0
        return self.obs()

    def obs(self):
        return np.array([self.stock / CAPACITY, np.sin(self.day), np.cos(self.day)], dtype=np.float32)

    def step(self, order):
        self.stock = min(CAPACITY, self.stock + order)
        demand = int(rng.poisson(2.5))
        sold = min(self.stock, demand)
        self.stock -= sold
        self.day += 1
        reward = 2.0 * sold - 0.5 * order - 0.4 * self.stock - 1.0 * (demand - sold)
        return self.obs(), reward, self.day >= STEPS


model = nn.Sequential(
    nn.Linear(3, 64),
    nn.LeakyReLU(),
    nn.Linear(64, 6),
    nn.Softmax(dim=0),
)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)


def discount(rewards):
    out = np.zeros(len(rewards), dtype=np.float32)
    acc = 0.0
    for i in reversed(range(len(rewards))):
        acc = rewards[i] + GAMMA * acc
        out[i] = acc
    return out


env = Shop()
history = []
baseline = 0.0
for episode in range(EPISODES):
    state = env.reset()
    states, actions, rewards = [], [], []
    done = False
    while not done:
        with torch.no_grad():
            probs = model(torch.from_numpy(state)).numpy().astype(np.float64)
        action = int(rng.choice(6, p=probs / probs.sum()))
        states.append(state)
        actions.append(action)
        state, reward, done = env.step(action)
        rewards.append(reward)
    history.append(sum(rewards))

    returns = discount(rewards)
    baseline = 0.9 * baseline + 0.1 * returns.mean()
    advantages = torch.from_numpy((returns - baseline) / 10.0)
    state_batch = torch.from_numpy(np.stack(states))
    action_batch = torch.tensor(actions)
    pred = model(state_batch)
    chosen = pred.gather(1, action_batch.view(-1, 1)).squeeze(1)
    loss = -(advantages * torch.log(chosen)).sum()

    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

    if (episode + 1) % 100 == 0:
        print(f"episode {episode + 1} mean reward {np.mean(history[-100:]):.2f}")

print(f"first 50 {np.mean(history[:50]):.2f} last 50 {np.mean(history[-50:]):.2f}")
