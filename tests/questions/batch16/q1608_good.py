from collections import defaultdict

import torch
import torch.nn as nn

GROUPING = "batch"
GAMMA = 1.0


class Policy(nn.Module):
    def __init__(self, states, actions):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(states, 32), nn.Tanh(), nn.Linear(32, actions))

    def forward(self, obs):
        return torch.distributions.Categorical(logits=self.net(obs))


class IssueEnv:
    def __init__(self, length=4, actions=3):
        generator = torch.Generator().manual_seed(5)
        self.length = length
        self.answer = torch.randint(actions, (length,), generator=generator)

    def observe(self, step):
        return torch.eye(self.length)[step]

    def rollout(self, policy):
        obs = torch.stack([self.observe(step) for step in range(self.length)])
        with torch.no_grad():
            actions = policy(obs).sample()
        solved = int((actions == self.answer).sum()) >= self.length - 1
        rewards = torch.zeros(self.length)
        rewards[-1] = float(solved)
        return obs, actions, rewards


def compute_discounted_returns(rewards):
    returns, running = torch.zeros_like(rewards), 0.0
    for step in reversed(range(len(rewards))):
        running = rewards[step] + GAMMA * running
        returns[step] = running
    return returns


def agentic_reward_norm(step_rewards, batch):
    groups = defaultdict(list)
    for i, entry in enumerate(batch):
        groups[entry[GROUPING]].append(i)
    advantages = torch.zeros_like(step_rewards)
    for members in groups.values():
        advantages[members] = step_rewards[members] - step_rewards[members].mean()
    return advantages


def main():
    torch.manual_seed(0)
    env = IssueEnv()
    policy = Policy(env.length, 3)
    optimizer = torch.optim.Adam(policy.parameters(), lr=4e-3)
    for iteration in range(1, 101):
        batch, step_rewards = [], []
        for trajectory in range(32):
            obs, actions, rewards = env.rollout(policy)
            returns = compute_discounted_returns(rewards)
            for step in range(env.length):
                ids = {"traj_group_id": trajectory, "batch": iteration}
                batch.append({"obs": obs[step], "action": actions[step], **ids})
                step_rewards.append(returns[step])
        step_rewards = torch.stack(step_rewards)
        advantages = agentic_reward_norm(step_rewards, batch)
        obs = torch.stack([entry["obs"] for entry in batch])
        actions = torch.stack([entry["action"] for entry in batch])
        loss = -(policy(obs).log_prob(actions) * advantages).mean()
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        if iteration % 20 == 0:
            print(
                f"iteration {iteration:3d}: solved {step_rewards.mean().item():.3f}  mean |advantage|"
                f" {advantages.abs().mean().item():.4f}  pg_loss {loss.item():+.4f}  grad_norm {norm.item():.5f}"
            )


if __name__ == "__main__":
    main()
