import torch
import torch.nn as nn

torch.manual_seed(0)
torch.set_num_threads(1)


class Corridor:
    def __init__(self, n):
        self.n = n

    def reset(self):
        self.pos = torch.zeros(self.n)
        self.goal = torch.where(torch.rand(self.n) < 0.5, -1.0, 1.0)
        self.t = 0
        return self.obs()

    def obs(self):
        return torch.stack([self.pos, self.goal, torch.full((self.n,), self.t / 20)], 1)

    def step(self, action):
        move = (action - 1).float() * 0.15
        self.pos = self.pos + move + 0.03 * torch.randn(self.n)
        self.t += 1
        reward = 20.0 - 10.0 * (self.pos - self.goal).abs()
        return self.obs(), reward, self.t >= 20


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 3))
        self.v = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))

    def dist(self, obs):
        return torch.distributions.Categorical(logits=self.pi(obs))

    def value(self, obs):
        return self.v(obs).squeeze(-1)


class ClipPPOLoss:
    def __init__(self, net, clip_epsilon=0.2, entropy_coef=0.01, normalize_advantage=True):
        self.net, self.clip, self.ent, self.normalize = net, clip_epsilon, entropy_coef, normalize_advantage

    def __call__(self, obs, act, old_logp, adv, ret):
        dist = self.net.dist(obs)
        log_weight = dist.log_prob(act) - old_logp
        gain1 = log_weight.exp() * adv
        log_weight_clip = log_weight.clamp(torch.tensor(1 - self.clip).log(), torch.tensor(1 + self.clip).log())
        if self.normalize:
            adv = (adv - adv.mean()) / adv.std().clamp(min=1e-6)
        gain2 = log_weight_clip.exp() * adv
        gain = torch.stack([gain1, gain2], -1).min(dim=-1)[0]
        loss_objective = -gain.mean()
        loss_critic = 0.01 * (self.net.value(obs) - ret).pow(2).mean()
        return loss_objective, loss_critic, -self.ent * dist.entropy().mean()


env, net = Corridor(32), ActorCritic()
loss_module = ClipPPOLoss(net)
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
gamma, lmbda = 0.95, 0.9

for it in range(30):
    obs, done, data = env.reset(), False, []
    with torch.no_grad():
        while not done:
            dist = net.dist(obs)
            act = dist.sample()
            nxt, rew, done = env.step(act)
            data.append((obs, act, dist.log_prob(act), rew, net.value(obs)))
            obs = nxt
        adv, advs, nv = 0.0, [], torch.zeros(env.n)
        for o, a, lp, r, v in reversed(data):
            adv = r + gamma * nv - v + gamma * lmbda * adv
            advs.insert(0, adv)
            nv = v
    O, A, LP, R, V = [torch.cat(z) for z in zip(*data)]
    ADV = torch.cat(advs)
    RET = ADV + V
    for _ in range(4):
        order = torch.randperm(len(O))
        for i in range(0, len(O), 160):
            k = order[i:i + 160]
            losses = loss_module(O[k], A[k], LP[k], ADV[k], RET[k])
            optimizer.zero_grad()
            sum(losses).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            optimizer.step()
    if it % 5 == 4:
        final = (env.pos - env.goal).abs().mean().item()
        print(f"iter {it + 1} reward {R.mean():.3f} distance at the end {final:.3f} objective {losses[0].item():.4f} "
              f"critic {losses[1].item():.4f}")
