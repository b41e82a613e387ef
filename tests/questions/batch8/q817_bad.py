from collections import deque

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)

CELLS, ACTIONS = 12, 3


class Corridor:
    def __init__(self):
        self.right = torch.randint(0, ACTIONS, (CELLS,)).tolist()

    def reset(self):
        self.cell = 0
        return self.state()

    def state(self):
        return torch.eye(CELLS)[self.cell]

    def step(self, action):
        reward = 1.0 if action == self.right[self.cell] else 0.0
        self.cell += 1
        done = self.cell == CELLS
        return (None if done else self.state()), reward, done


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(CELLS, 32), nn.ReLU(), nn.Linear(32, ACTIONS))

    def act(self, state):
        m = Categorical(logits=self.net(state))
        action = m.sample()
        return action.item(), m.log_prob(action)


def reinforce(env, policy, optimizer, episodes, gamma):
    scores = deque(maxlen=100)
    for episode in range(1, episodes + 1):
        saved_log_probs, rewards = [], []
        state, done = env.reset(), False
        while not done:
            action, log_prob = policy.act(state)
            state, reward, done = env.step(action)
            saved_log_probs.append(log_prob)
            rewards.append(reward)
        scores.append(sum(rewards))

        discounts = [gamma**i for i in range(len(rewards))]
        R = sum(a * b for a, b in zip(discounts, rewards))
        policy_loss = torch.stack([-log_prob * R for log_prob in saved_log_probs]).sum()

        optimizer.zero_grad()
        policy_loss.backward()
        optimizer.step()
        if episode % 150 == 0:
            print(f"episode {episode}: average score {sum(scores) / len(scores):.2f} of {CELLS}")


def main():
    env, policy = Corridor(), Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
    reinforce(env, policy, optimizer, episodes=600, gamma=0.6)


if __name__ == "__main__":
    main()
