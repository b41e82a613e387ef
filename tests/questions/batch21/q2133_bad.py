import torch
import torch.nn as nn
from torch.distributions import Normal, Independent, kl_divergence

torch.manual_seed(7)
OBS, ACT, DET, STO = 12, 2, 48, 6

proj = torch.randn(4, OBS, generator=torch.Generator().manual_seed(1))


def rollouts(n, length=16):
    s = torch.randn(n, 4)
    obs, acts = [], []
    for _ in range(length):
        a = torch.randn(n, ACT)
        s = 0.9 * s + torch.cat([0.3 * a, 0.7 * torch.randn(n, 2)], 1)
        obs.append(torch.tanh(0.6 * s @ proj))
        acts.append(a)
    return torch.stack(obs), torch.stack(acts)


def gaussian(x):
    mean, raw = x.chunk(2, -1)
    return mean, nn.functional.softplus(raw) + 0.1


class RSSM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(OBS, 48), nn.ELU(), nn.Linear(48, 48), nn.ELU())
        self.inp = nn.Sequential(nn.Linear(STO + ACT, 48), nn.ELU())
        self.cell = nn.GRUCell(48, DET)
        self.prior_net = nn.Sequential(nn.Linear(DET, 48), nn.ELU(), nn.Linear(48, 2 * STO))
        self.post_net = nn.Sequential(nn.Linear(DET + 48, 48), nn.ELU(), nn.Linear(48, 2 * STO))

    def rollout_representation(self, obs, act):
        emb = self.embed(obs)
        det = torch.zeros(obs.shape[1], DET)
        sto = torch.zeros(obs.shape[1], STO)
        prior, post = [], []
        for t in range(obs.shape[0]):
            det = self.cell(self.inp(torch.cat([sto, act[t]], -1)), det)
            m0, s0 = gaussian(self.prior_net(det))
            m1, s1 = gaussian(self.post_net(torch.cat([det, emb[t]], -1)))
            sto = m1 + s1 * torch.randn_like(s1)
            prior.append((m0, s0, m0 + s0 * torch.randn_like(s0), det))
            post.append((m1, s1, sto, det))
        stack = lambda seq: tuple(torch.stack(x) for x in zip(*seq))
        return stack(prior), stack(post)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rssm = RSSM()
        self.decoder = nn.Sequential(nn.Linear(DET + STO, 64), nn.ELU(), nn.Linear(64, OBS))


def world_loss(agent, obs, act, free_nats=1.0):
    post, prior = agent.rssm.rollout_representation(obs, act)
    recon = agent.decoder(torch.cat([post[3], post[2]], -1))
    image_loss = -Independent(Normal(recon, 0.2), 1).log_prob(obs).mean()
    div = kl_divergence(Independent(Normal(post[0], post[1]), 1), Independent(Normal(prior[0], prior[1]), 1)).mean()
    return image_loss + div.clamp(min=free_nats), recon, div


agent = Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=2e-3)

for step in range(500):
    obs, act = rollouts(32)
    loss, recon, div = world_loss(agent, obs, act)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(agent.parameters(), 100.0)
    optimizer.step()
    if step % 100 == 0:
        print(f"step {step} model loss {loss.item():.3f} kl {div.item():.3f}")

agent.eval()
with torch.no_grad():
    obs, act = rollouts(256)
    loss, recon, div = world_loss(agent, obs, act)
print(f"model loss {loss.item():.3f} kl {div.item():.3f}")
print(f"reconstruction mse {(recon - obs).pow(2).mean().item():.4f} (variance of the observations {obs.var().item():.4f})")
