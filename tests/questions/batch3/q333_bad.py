import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(10)


class CategoricalPolicy(nn.Module):
    def __init__(self, n_actions=6):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, n_actions))

    def distribution(self, obs):
        return Categorical(logits=self.net(obs))


class VPG:
    def __init__(self, policy, policy_ent_coeff=0.3, lr=0.01):
        self.policy = policy
        self.policy_ent_coeff = policy_ent_coeff
        self.optimizer = torch.optim.Adam(policy.parameters(), lr=lr)

    def entropy_estimate(self, obs, actions):
        with torch.no_grad():
            log_likelihood = self.policy.distribution(obs).log_prob(actions)
        return log_likelihood

    def train_once(self, obs, actions, rewards):
        rewards = rewards + self.policy_ent_coeff * self.entropy_estimate(obs, actions)
        advantages = (rewards - rewards.mean()) / (rewards.std() + 1e-8)
        loss = -(self.policy.distribution(obs).log_prob(actions) * advantages).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def reward_of(obs, actions):
    good = (obs[:, 0] > 0).long()
    return ((actions % 2) == good).float() + 0.1 * (actions == 5).float()


policy = CategoricalPolicy()
algo = VPG(policy)
for itr in range(200):
    obs = torch.randn(256, 4)
    with torch.no_grad():
        actions = policy.distribution(obs).sample()
    rewards = reward_of(obs, actions)
    loss = algo.train_once(obs, actions, rewards)
    if itr % 25 == 0 or itr == 199:
        entropy = policy.distribution(obs).entropy().mean().item()
        print(f"itr {itr}: reward {rewards.mean().item():.3f} entropy {entropy:.3f} loss {loss:.3f}")
