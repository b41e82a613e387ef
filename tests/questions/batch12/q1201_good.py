import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

SIZE, FRAMES, GAMMA = 6, 4, 0.8


class Catch:
    """A ball falls through a small grid; the paddle in the last row has to be under it."""

    def reset(self):
        self.row, self.col = 0, random.randrange(SIZE)
        self.drift = random.choice([-1, 0, 1])
        self.paddle = random.randrange(SIZE)
        self.frames = deque([self.draw()] * FRAMES, maxlen=FRAMES)
        return np.stack(self.frames)

    def draw(self):
        frame = np.zeros((SIZE, SIZE), dtype=np.float32)
        frame[self.row, self.col] = 1.0
        frame[-1, self.paddle] += 0.5
        return frame

    def step(self, action):
        self.paddle = min(max(self.paddle + action - 1, 0), SIZE - 1)
        self.row += 1
        self.col = min(max(self.col + self.drift, 0), SIZE - 1)
        self.frames.append(self.draw())
        done = self.row == SIZE - 1
        reward = 1.0 - abs(self.col - self.paddle) / 2
        return np.stack(self.frames), reward, done


class RecurrentQ(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Flatten())
        self.embed = nn.Linear(8 * SIZE * SIZE, 32)
        self.lstm = nn.LSTM(32, hidden, num_layers=1, batch_first=True)
        self.head = nn.Linear(hidden, 3)

    def forward(self, frames):
        n, t = frames.shape[:2]
        x = self.conv(frames.reshape(n * t, 1, SIZE, SIZE))
        x = F.relu(self.embed(x)).view(n, t, 32)
        out, _ = self.lstm(x)
        return self.head(out[:, -1])


def collect(episodes):
    env, memory = Catch(), []
    for _ in range(episodes):
        state, done = env.reset(), False
        while not done:
            action = random.randrange(3)
            nxt, reward, done = env.step(action)
            memory.append((state, action, reward, nxt, done))
            state = nxt
    return memory


def play(net, episodes=100):
    env, total = Catch(), 0.0
    for _ in range(episodes):
        state, done = env.reset(), False
        while not done:
            with torch.no_grad():
                action = int(net(torch.from_numpy(state)[None]).argmax())
            state, reward, done = env.step(action)
            total += reward / (SIZE - 1)
    return total / episodes


def main():
    random.seed(0)
    torch.manual_seed(0)
    memory = collect(1500)
    net, target = RecurrentQ(), RecurrentQ()
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    for step in range(601):
        if step % 50 == 0:
            target.load_state_dict(net.state_dict())
        s, a, r, s2, d = zip(*random.sample(memory, 48))
        s, s2 = torch.from_numpy(np.stack(s)), torch.from_numpy(np.stack(s2))
        a, r, d = torch.tensor(a), torch.tensor(r), torch.tensor(d, dtype=torch.float32)
        with torch.no_grad():
            goal = r + GAMMA * (1 - d) * target(s2).max(1).values
        loss = F.smooth_l1_loss(net(s).gather(1, a[:, None]).squeeze(1), goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    states = torch.from_numpy(np.stack([m[0] for m in random.sample(memory, 64)]))
    with torch.no_grad():
        single = torch.cat([net(one[None]) for one in states])
        print(f"Q of single states and of the batch differ by {(single - net(states)).abs().max():.3f}")
    print(f"reward per step of the greedy policy: {play(net):.2f}")


if __name__ == "__main__":
    main()
