import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)


class FlattenMlp(nn.Module):
    def __init__(self, input_size, output_size, hidden=48):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(input_size, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, output_size),
        )

    def forward(self, *inputs):
        return self.layers(torch.cat(inputs, dim=1))


class TanhGaussianPolicy(nn.Module):
    def __init__(self, obs_dim, action_dim):
        super().__init__()
        self.body = FlattenMlp(obs_dim, 2 * action_dim)

    def forward(self, obs):
        mean, log_std = self.body(obs).chunk(2, dim=1)
        dist = Normal(mean, log_std.clamp(-5, 2).exp())
        pre_tanh = dist.rsample()
        action = torch.tanh(pre_tanh)
        log_pi = (dist.log_prob(pre_tanh) - torch.log(1 - action.pow(2) + 1e-6)).sum(1, keepdim=True)
        return action, log_pi


class SACTrainer:
    def __init__(self, obs_dim=4, action_dim=2, lr=3e-3, alpha=0.05):
        self.policy = TanhGaussianPolicy(obs_dim, action_dim)
        self.qf1 = FlattenMlp(obs_dim + action_dim, 1)
        self.qf2 = FlattenMlp(obs_dim + action_dim, 1)
        self.qf_criterion = nn.MSELoss()
        self.alpha = alpha
        self.policy_optimizer = torch.optim.Adam(self.policy.parameters(), lr=lr)
        self.qf1_optimizer = torch.optim.Adam(self.qf1.parameters(), lr=lr)
        self.qf2_optimizer = torch.optim.Adam(self.qf2.parameters(), lr=lr)

    def train_from_torch(self, obs, actions, rewards):
        new_actions, log_pi = self.policy(obs)
        q_new_actions = torch.min(self.qf1(obs, new_actions), self.qf2(obs, new_actions))
        policy_loss = (self.alpha * log_pi - q_new_actions).mean()

        qf1_loss = self.qf_criterion(self.qf1(obs, actions), rewards)
        qf2_loss = self.qf_criterion(self.qf2(obs, actions), rewards)

        self.qf1_optimizer.zero_grad()
        qf1_loss.backward()
        self.qf1_optimizer.step()

        self.qf2_optimizer.zero_grad()
        qf2_loss.backward()
        self.qf2_optimizer.step()

        self.policy_optimizer.zero_grad()
        policy_loss.backward()
        self.policy_optimizer.step()
        return policy_loss.item(), qf1_loss.item()


def sample_batch(n=64):
    obs = torch.rand(n, 4) * 2 - 1
    actions = torch.rand(n, 2) * 2 - 1
    return obs, actions, -(actions - 0.8 * obs[:, :2]).pow(2).sum(1, keepdim=True)


def main():
    trainer = SACTrainer()
    for step in range(1, 201):
        policy_loss, qf_loss = trainer.train_from_torch(*sample_batch())
        if step % 50 == 0:
            print(f"step {step}: policy {policy_loss:.4f} critic {qf_loss:.4f}")


if __name__ == "__main__":
    main()
