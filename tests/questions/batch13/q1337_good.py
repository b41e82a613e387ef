import random

import torch
import torch.nn as nn
import torch.nn.functional as F

GAMMA = 0.9


class Corridors:
    """Twelve corridors, one is entered at random; each has its own reward at its end."""

    def __init__(self, generator):
        self.rewards = torch.randn(12, generator=generator)
        self.generator = generator

    def reset(self):
        self.which = torch.randint(0, 12, (1,), generator=self.generator).item()
        self.at = 0
        return self.state()

    def state(self):
        state = torch.zeros(16)
        state[self.which] = 1
        state[12 + self.at] = 1
        return state

    def step(self):
        self.at += 1
        done = self.at == 4
        reward = self.rewards[self.which].item() if done else 0.0
        return (None if done else self.state()), reward, done


class Agent:
    def __init__(self):
        self.value = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
        self.optimizer = torch.optim.Adam(self.value.parameters(), lr=3e-3)
        self.state_traj, self.r_traj = [], []
        self.state_replay, self.r_replay = [], []

    def self_play(self, env):
        state, done = env.reset(), False
        while not done:
            self.state_traj.append(state)
            state, reward, done = env.step()
            self.r_traj.append(reward)
        self.state_replay.append(self.state_traj)
        self.r_replay.append(self.r_traj)

    def update_weights(self, batches):
        for _ in range(batches):
            states, targets = [], []
            for _ in range(16):
                i = random.randrange(len(self.state_replay))
                rest = 0.0
                for state, reward in zip(reversed(self.state_replay[i]), reversed(self.r_replay[i])):
                    rest = reward + GAMMA * rest
                    states.append(state)
                    targets.append(rest)
            loss = F.mse_loss(self.value(torch.stack(states)).squeeze(1), torch.tensor(targets))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        self.state_traj = []
        self.r_traj = []
        return loss.item()

    @torch.no_grad()
    def error(self, env):
        true = env.rewards[:, None] * GAMMA ** torch.arange(3.0, -1.0, -1.0)
        states = torch.cat([torch.eye(12).repeat_interleave(4, 0), torch.eye(4).repeat(12, 1)], 1)
        return F.mse_loss(self.value(states).view(12, 4), true).item()


def main():
    torch.manual_seed(0)
    random.seed(0)
    env = Corridors(torch.Generator().manual_seed(1))
    agent = Agent()
    for episode in range(61):
        agent.self_play(env)
        loss = agent.update_weights(20)
        if episode % 12 == 0:
            print(
                f"episode {episode}: loss {loss:.4f}  error of the values {agent.error(env):.3f}"
                f"  episodes in the replay {len(agent.state_replay)}"
            )


if __name__ == "__main__":
    main()
