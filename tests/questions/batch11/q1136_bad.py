import torch as th
import torch.nn as nn
import torch.nn.functional as F


class SquashedDiagGaussian:
    def __init__(self, mean, log_std):
        self.base = th.distributions.Normal(mean, log_std.exp())

    def sample(self):
        self.pre = self.base.rsample()
        return th.tanh(self.pre)

    def log_prob(self, actions):
        pre = th.atanh(actions.clamp(-0.999, 0.999))
        return (self.base.log_prob(pre) - th.log(1 - actions.pow(2) + 1e-3)).sum(dim=1)

    def entropy(self):
        return None


class ActorCriticPolicy(nn.Module):
    def __init__(self, obs_dim=3, act_dim=1):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(obs_dim, 32), nn.Tanh(), nn.Linear(32, act_dim))
        self.vf = nn.Sequential(nn.Linear(obs_dim, 32), nn.Tanh(), nn.Linear(32, 1))
        self.log_std = nn.Parameter(th.zeros(act_dim))

    def dist(self, obs):
        return SquashedDiagGaussian(self.pi(obs), self.log_std)

    def evaluate_actions(self, obs, actions):
        dist = self.dist(obs)
        return self.vf(obs).flatten(), dist.log_prob(actions), dist.entropy()


def reward_fn(obs, action):
    return -(action - th.tanh(obs[:, :1] - obs[:, 1:2])).pow(2).squeeze(1)


class PPO:
    def __init__(self, ent_coef=0.02, clip_range=0.2, n_epochs=4, lr=3e-3):
        self.policy = ActorCriticPolicy()
        self.optimizer = th.optim.Adam(self.policy.parameters(), lr=lr)
        self.ent_coef, self.clip_range, self.n_epochs = ent_coef, clip_range, n_epochs

    def collect(self, n=512):
        with th.no_grad():
            obs = th.randn(n, 3)
            dist = self.policy.dist(obs)
            actions = dist.sample()
            rewards = reward_fn(obs, actions)
            values = self.policy.vf(obs).flatten()
            return obs, actions, dist.log_prob(actions), rewards - values, rewards

    def train(self, obs, actions, old_log_prob, advantages, returns):
        ent = []
        for _ in range(self.n_epochs):
            for idx in th.randperm(len(obs)).split(128):
                values, log_prob, entropy = self.policy.evaluate_actions(obs[idx], actions[idx])
                adv = advantages[idx]
                adv = (adv - adv.mean()) / (adv.std() + 1e-8)
                ratio = th.exp(log_prob - old_log_prob[idx])
                surr = ratio.clamp(1 - self.clip_range, 1 + self.clip_range) * adv
                policy_loss = -th.min(adv * ratio, surr).mean()
                value_loss = F.mse_loss(returns[idx], values)
                if entropy is None:
                    entropy_loss = -log_prob.mean()
                else:
                    entropy_loss = -th.mean(entropy)
                loss = policy_loss + self.ent_coef * entropy_loss + 0.5 * value_loss
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.policy.parameters(), 0.5)
                self.optimizer.step()
                ent.append(entropy_loss.item())
        return sum(ent) / len(ent)


th.manual_seed(33)
algo = PPO()
for it in range(1, 41):
    rollout = algo.collect()
    entropy_loss = algo.train(*rollout)
    if it % 8 == 0:
        std = algo.policy.log_std.exp().item()
        print(
            f"iteration {it}: reward {rollout[-1].mean():.4f}  entropy_loss {entropy_loss:.4f}  std {std:.3f}"
        )
