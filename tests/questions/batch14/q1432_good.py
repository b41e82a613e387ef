import torch
import torch.nn as nn
from torch.distributions import Categorical

SIZE, GAMMA, EPISODES = 7, 0.97, 250


class Corridor:
    """A walk of SIZE cells from a random cell; the right end pays 10, every step costs what its cell says."""

    cost = torch.tensor([0.2, 0.8, 0.1, 1.0, 0.3, 0.6, 0.0])

    def reset(self, generator):
        self.position, self.steps = int(torch.randint(0, SIZE - 1, (1,), generator=generator)), 0
        return self.state()

    def state(self):
        return nn.functional.one_hot(torch.tensor(self.position), SIZE).float()

    def step(self, action):
        self.steps += 1
        self.position = min(max(self.position + (1 if action else -1), 0), SIZE - 1)
        done = self.position == SIZE - 1
        reward = 10.0 if done else -self.cost[self.position].item()
        return self.state(), reward, done or self.steps >= 25


def run_episode(env, policy, generator):
    states, log_probs, rewards = [], [], []
    state, done = env.reset(generator), False
    while not done:
        dist = Categorical(logits=policy(state))
        action = dist.sample()
        states.append(state)
        log_probs.append(dist.log_prob(action))
        state, reward, done = env.step(action.item())
        rewards.append(reward)
    returns, total = [], 0.0
    for reward in reversed(rewards):
        total = reward + GAMMA * total
        returns.insert(0, total)
    return torch.stack(states), torch.stack(log_probs), torch.tensor(returns), sum(rewards)


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    env = Corridor()
    policy = nn.Sequential(nn.Linear(SIZE, 24), nn.ReLU(), nn.Linear(24, 2))
    s_value_func = nn.Sequential(nn.Linear(SIZE, 24), nn.ReLU(), nn.Linear(24, 1))
    optimizer_theta = torch.optim.Adam(policy.parameters(), lr=3e-3)
    optimizer_w = torch.optim.Adam(s_value_func.parameters(), lr=2e-2)
    history = []
    for episode in range(EPISODES):
        states, log_probs, returns, score = run_episode(env, policy, generator)
        values = s_value_func(states).squeeze(1)
        delta = returns - values

        optimizer_w.zero_grad()
        delta.pow(2).mean().backward()
        nn.utils.clip_grad_norm_(s_value_func.parameters(), 5.0)
        optimizer_w.step()

        optimizer_theta.zero_grad()
        (-delta.detach() * log_probs).mean().backward()
        optimizer_theta.step()
        history.append((score, delta.detach().pow(2).mean().item(), values.mean().item()))
        if episode % 50 == 49:
            score, error, value = (sum(h[k] for h in history[-50:]) / 50 for k in range(3))
            print(f"episode {episode}: reward {score:.2f} value {value:.3f} baseline error {error:.2f}")
    with torch.no_grad():
        print("values:", [round(v, 2) for v in s_value_func(torch.eye(SIZE)).squeeze(1).tolist()])


if __name__ == "__main__":
    main()
