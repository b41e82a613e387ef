import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)


class RecurrentPolicy(nn.Module):
    def __init__(self, obs=5, actions=4, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(obs, hidden, batch_first=True)
        self.pi = nn.Linear(hidden, actions)
        self.vf = nn.Linear(hidden, 1)

    def forward(self, obs):
        h, _ = self.lstm(obs)
        return Categorical(logits=self.pi(h)), self.vf(h).squeeze(-1)


def episodes(rule, n=16, longest=60):
    obs = torch.randn(n, longest, 5)
    lengths = torch.randint(2, 12, (n, 1))
    mask = (torch.arange(longest) < lengths).float()
    best = (obs @ rule).argmax(-1)
    return obs, mask, best


def update(policy, optimizer, rule):
    obs, mask, best = episodes(rule)
    with torch.no_grad():
        dist, _ = policy(obs)
        actions = dist.sample()
        old_log_prob = dist.log_prob(actions)
        returns = (actions == best).float()
    for _ in range(3):
        dist, values = policy(obs)
        advantages = returns - values.detach()
        ratio = torch.exp(dist.log_prob(actions) - old_log_prob)
        policy_loss_1 = advantages * ratio
        policy_loss_2 = advantages * torch.clamp(ratio, 0.8, 1.2)
        policy_loss = -torch.mean(torch.min(policy_loss_1, policy_loss_2) * mask)
        value_loss = torch.mean(((returns - values) ** 2) * mask)
        loss = policy_loss + 0.5 * value_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return value_loss.item(), (returns * mask).sum().item() / mask.sum().item()


def main():
    rule = torch.randn(5, 4)
    policy = RecurrentPolicy()
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.5, momentum=0.9)
    total, value = 0.0, 0.0
    for iteration in range(1, 201):
        value_loss, reward = update(policy, optimizer, rule)
        total, value = total + reward, value + value_loss
        if iteration % 50 == 0:
            print(f"iteration {iteration}: value loss {value / 50:.4f} mean reward {total / 50:.3f}")
            total, value = 0.0, 0.0


if __name__ == "__main__":
    main()
