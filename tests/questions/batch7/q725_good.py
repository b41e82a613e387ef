import torch
import torch.nn.functional as F
from torch import distributions, nn

torch.manual_seed(0)


class MLP(nn.Module):
    def __init__(self, input_dim, hidden_dim, output_dim):
        super().__init__()
        self.fc_1 = nn.Linear(input_dim, hidden_dim)
        self.fc_2 = nn.Linear(hidden_dim, output_dim)

    def forward(self, x):
        return self.fc_2(F.relu(self.fc_1(x)))


class ActorCritic(nn.Module):
    def __init__(self, actor, critic):
        super().__init__()
        self.actor = actor
        self.critic = critic

    def forward(self, state):
        return self.actor(state), self.critic(state)


class Corridor:
    """Eight short episodes at a time: go where the light is; a salary of 20 in every step."""

    def __init__(self, n=8, length=5):
        self.n, self.length = n, length

    def reset(self):
        self.t = 0
        self.light = torch.randint(0, 4, (self.n,))
        return F.one_hot(self.light, 4).float()

    def step(self, action):
        reward = 20.0 + (action == self.light).float()
        self.t += 1
        self.light = torch.randint(0, 4, (self.n,))
        return F.one_hot(self.light, 4).float(), reward, self.t == self.length


def calculate_returns(rewards, discount_factor):
    returns, R = [], torch.zeros_like(rewards[0])
    for r in reversed(rewards):
        R = r + R * discount_factor
        returns.insert(0, R)
    return torch.stack(returns)


def update_policy(returns, log_prob_actions, values, optimizer):
    returns = returns.detach()
    advantages = returns - values.detach()
    policy_loss = -(advantages * log_prob_actions).mean()
    value_loss = F.smooth_l1_loss(returns, values).mean()
    optimizer.zero_grad()
    policy_loss.backward()
    value_loss.backward()
    optimizer.step()
    return policy_loss.item(), value_loss.item()


def train(env, policy, optimizer, discount_factor=0.5):
    log_prob_actions, values, rewards = [], [], []
    done = False
    state = env.reset()
    while not done:
        action_pred, value_pred = policy(state)
        dist = distributions.Categorical(logits=action_pred)
        action = dist.sample()
        log_prob_actions.append(dist.log_prob(action))
        values.append(value_pred.squeeze(-1))
        state, reward, done = env.step(action)
        rewards.append(reward)
    returns = calculate_returns(rewards, discount_factor)
    losses = update_policy(returns, torch.stack(log_prob_actions), torch.stack(values), optimizer)
    return losses, torch.stack(rewards).mean().item() - 20.0


def main():
    policy = ActorCritic(MLP(4, 32, 4), MLP(4, 32, 1))
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    env = Corridor()
    recent = []
    for episode in range(1, 321):
        (policy_loss, value_loss), reward = train(env, policy, optimizer)
        recent.append(reward)
        if episode % 80 == 0:
            print(
                f"episode {episode}: right {sum(recent[-40:]) / 40:.3f} policy {policy_loss:.2f} value {value_loss:.2f}"
            )


if __name__ == "__main__":
    main()
