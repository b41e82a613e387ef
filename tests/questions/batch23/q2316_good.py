import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

OBS, ACT = 4, 6
GAMMA, TAU, ALPHA = 0.9, 0.02, 0.2
BATCH = 128

mix = torch.randn(OBS, ACT) * 0.5


def transition(obs, act):
    best = 0.5 * torch.tanh(obs @ mix)
    reward = -2.0 * (act - best).pow(2).sum(-1, keepdim=True)
    nxt = 0.6 * obs + 0.8 * torch.randn_like(obs)
    return reward, nxt


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(OBS, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.mu = nn.Linear(64, ACT)
        self.log_std = nn.Linear(64, ACT)

    def forward(self, obs):
        h = self.body(obs)
        dist = torch.distributions.Normal(self.mu(h), self.log_std(h).clamp(-5, 1).exp())
        x = dist.rsample()
        y = torch.tanh(x)
        log_prob = dist.log_prob(x) - torch.log(1 - y.pow(2) + 1e-6)
        return y, log_prob.sum(-1, keepdim=True)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(OBS + ACT, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)
        )

    def forward(self, obs, act):
        return self.net(torch.cat([obs, act], dim=-1))


actor, critic1, critic2 = Actor(), Critic(), Critic()
target1, target2 = copy.deepcopy(critic1), copy.deepcopy(critic2)
actor_optim = torch.optim.Adam(actor.parameters(), lr=1e-3)
critic_optim = torch.optim.Adam(list(critic1.parameters()) + list(critic2.parameters()), lr=1e-3)

obs_buf = torch.randn(8000, OBS)
act_buf = torch.rand(8000, ACT) * 2 - 1
rew_buf, next_buf = transition(obs_buf, act_buf)

for it in range(1500):
    idx = torch.randint(0, len(obs_buf), (BATCH,))
    obs, act, rew, nxt = obs_buf[idx], act_buf[idx], rew_buf[idx], next_buf[idx]

    with torch.no_grad():
        next_act, next_logp = actor(nxt)
        next_q = torch.min(target1(nxt, next_act), target2(nxt, next_act)) - ALPHA * next_logp
        target_q = rew + GAMMA * next_q
    critic_loss = F.mse_loss(critic1(obs, act), target_q) + F.mse_loss(critic2(obs, act), target_q)
    critic_optim.zero_grad()
    critic_loss.backward()
    critic_optim.step()

    new_act, logp = actor(obs)
    q = torch.min(critic1(obs, new_act), critic2(obs, new_act))
    actor_loss = (ALPHA * logp - q).mean()
    actor_optim.zero_grad()
    actor_loss.backward()
    actor_optim.step()

    with torch.no_grad():
        for net, tgt in ((critic1, target1), (critic2, target2)):
            for p, tp in zip(net.parameters(), tgt.parameters()):
                tp.lerp_(p, TAU)
    if it % 300 == 0:
        print(f"iter {it} critic {critic_loss.item():.3f} actor {actor_loss.item():.3f}")

with torch.no_grad():
    obs = torch.randn(2000, OBS)
    act, logp = actor(obs)
    entropy = -logp.reshape(2000, -1).sum(-1).mean()
    reward, _ = transition(obs, act)
    spread = torch.stack([actor(obs)[0] for _ in range(20)]).std(0).mean()
print(f"policy entropy {entropy:.3f} action std {spread:.3f} reward {reward.mean():.3f} q {critic1(obs, act).mean():.3f}")
