import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(21)
torch.set_num_threads(1)

MAX_LEN = 30


class Walk:
    def reset(self):
        self.x, self.t = 0.0, 0
        return torch.tensor([self.x, 1.0])

    def step(self, a):
        self.x += (0.15 if a == 1 else -0.15) + 0.25 * torch.randn(1).item()
        self.t += 1
        reward = 1.0 - abs(self.x)
        done = abs(self.x) > 1.0 or self.t >= MAX_LEN
        return torch.tensor([self.x, 1.0]), reward, done


def compute_advantages(discount, gae_lambda, max_path_length, baselines, rewards):
    adv_filter = torch.full((1, 1, 1, max_path_length - 1), discount * gae_lambda)
    adv_filter = torch.cumprod(F.pad(adv_filter, (1, 0), value=1), dim=-1)
    deltas = rewards + discount * F.pad(baselines, (0, 1))[:, 1:] - baselines
    deltas = F.pad(deltas, (0, max_path_length - 1)).unsqueeze(0).unsqueeze(0)
    return F.conv2d(deltas, adv_filter, stride=1).reshape(rewards.shape)


def filter_valids(tensor, valids):
    return [tensor[i][:valid] for i, valid in enumerate(valids)]


policy = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
baseline = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
policy_opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
baseline_opt = torch.optim.Adam(baseline.parameters(), lr=1e-2)
env = Walk()
batch_size = 20


def obtain_samples():
    paths, steps = [], 0
    while steps < batch_size:
        obs, acts, rews, done = [], [], [], False
        o = env.reset()
        while not done:
            with torch.no_grad():
                a = torch.distributions.Categorical(logits=policy(o)).sample().item()
            obs.append(o)
            acts.append(a)
            o, r, done = env.step(a)
            rews.append(r)
        steps += len(rews)
        paths.append((torch.stack(obs), torch.tensor(acts), torch.tensor(rews)))
    return paths


def pad(t, n):
    return F.pad(t, (0, n - len(t)))


for itr in range(40):
    paths = obtain_samples()
    valids = [len(p[2]) for p in paths]
    rewards = torch.stack([pad(p[2], MAX_LEN) for p in paths])
    values = [baseline(p[0]).squeeze(-1) for p in paths]
    with torch.no_grad():
        baselines = torch.stack([pad(v, MAX_LEN) for v in values])
        advantages = compute_advantages(0.99, 0.95, MAX_LEN, baselines, rewards)
        adv = torch.cat(filter_valids(advantages, valids))
        returns = adv + torch.cat(filter_valids(baselines, valids))
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    logp = torch.cat([torch.distributions.Categorical(logits=policy(p[0])).log_prob(p[1]) for p in paths])
    loss = -(logp * adv).mean()
    policy_opt.zero_grad()
    loss.backward()
    policy_opt.step()
    vloss = F.mse_loss(torch.cat(values), returns)
    baseline_opt.zero_grad()
    vloss.backward()
    baseline_opt.step()
    if itr % 5 == 4:
        print(f"itr {itr + 1}  paths {len(paths)}  mean length {sum(valids) / len(valids):.1f}  "
              f"policy loss {loss.item():.4f}  value loss {vloss.item():.3f}")
