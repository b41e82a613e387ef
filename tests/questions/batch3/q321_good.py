import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(6)


class SignalEnv:
    def __init__(self, horizon=20):
        self.horizon = horizon

    def reset(self):
        self.t = 0
        self.signal = torch.randint(0, 3, ())
        return self.observe()

    def observe(self):
        return nn.functional.one_hot(self.signal, 3).float()

    def step(self, action):
        reward = 1.0 if int(action) == int(self.signal) else 0.0
        self.t += 1
        self.signal = torch.randint(0, 3, ())
        return self.observe(), reward, self.t >= self.horizon


class Buffer:
    def __init__(self, gamma=0.6, lam=0.9):
        self.gamma, self.lam = gamma, lam
        self.obs, self.act, self.adv, self.ret = [], [], [], []
        self.path_rews, self.path_vals = [], []

    def store(self, obs, act, rew, val):
        self.obs.append(obs)
        self.act.append(act)
        self.path_rews.append(rew)
        self.path_vals.append(val)

    def finish_path(self, last_val):
        rews, vals = [*self.path_rews, last_val], [*self.path_vals, last_val]
        running, adv, ret, target = 0.0, [], [], last_val
        for t in reversed(range(len(self.path_rews))):
            delta = rews[t] + self.gamma * vals[t + 1] - vals[t]
            running = delta + self.gamma * self.lam * running
            target = rews[t] + self.gamma * target
            adv.append(running)
            ret.append(target)
        self.adv += adv[::-1]
        self.ret += ret[::-1]
        self.path_rews, self.path_vals = [], []

    def get(self):
        adv = torch.tensor(self.adv)
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        data = torch.stack(self.obs), torch.stack(self.act), adv, torch.tensor(self.ret)
        self.obs, self.act, self.adv, self.ret = [], [], [], []
        return data


pi = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 3))
v = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
pi_optimizer = torch.optim.Adam(pi.parameters(), lr=0.01)
v_optimizer = torch.optim.Adam(v.parameters(), lr=0.01)
env, buf = SignalEnv(), Buffer()

for epoch in range(25):
    returns = []
    for _ in range(10):
        o, r, d, ep_ret = env.reset(), 0.0, False, 0.0
        while not d:
            with torch.no_grad():
                a = Categorical(logits=pi(o)).sample()
                val = v(o).item()
            next_o, r, d = env.step(a)
            buf.store(o, a, r, val)
            o = next_o
            ep_ret += r
        buf.finish_path(0.0)
        returns.append(ep_ret)
    obs, act, adv, ret = buf.get()
    pi_loss = -(Categorical(logits=pi(obs)).log_prob(act) * adv).mean()
    pi_optimizer.zero_grad()
    pi_loss.backward()
    pi_optimizer.step()
    for _ in range(10):
        v_loss = (v(obs).squeeze(-1) - ret).pow(2).mean()
        v_optimizer.zero_grad()
        v_loss.backward()
        v_optimizer.step()
    if epoch % 4 == 0:
        print(
            f"epoch {epoch}: return {sum(returns) / len(returns):.2f} of 20, value loss {v_loss.item():.4f}"
        )
