import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(4)

n_envs, gamma = 64, 0.97
n_cells, n_actions = 12, 2
goal = n_cells - 1


class Corridor:
    def __init__(self):
        self.pos = torch.zeros(n_envs, dtype=torch.long)
        self.steps = torch.zeros(n_envs, dtype=torch.long)

    def state(self):
        return nn.functional.one_hot(self.pos, n_cells).float()

    def step(self, action):
        slip = torch.rand(n_envs) < 0.3
        move = torch.where(slip, 1 - action, action) * 2 - 1
        self.pos = (self.pos + move).clamp(0, goal)
        fell = (self.pos < goal) & (torch.rand(n_envs) < 0.03)
        reached = self.pos == goal
        reward = torch.where(reached, 10.0, torch.where(fell, -10.0, -0.1))
        self.steps += 1
        done = reached | fell
        next_state = self.state()
        restart = done | (self.steps >= 60)
        self.pos[restart] = torch.randint(0, goal, (int(restart.sum()),))
        self.steps[restart] = 0
        return next_state, reward, done


actor = nn.Sequential(nn.Linear(n_cells, 32), nn.Tanh(), nn.Linear(32, n_actions))
critic = nn.Sequential(nn.Linear(n_cells, 32), nn.Tanh(), nn.Linear(32, 1))
actor_opt = torch.optim.Adam(actor.parameters(), lr=3e-3)
critic_opt = torch.optim.Adam(critic.parameters(), lr=8e-3)

env = Corridor()
state = env.state()
for it in range(2000):
    dist = Categorical(logits=actor(state))
    action = dist.sample()
    next_state, reward, done = env.step(action)

    value = critic(state).squeeze(-1)
    next_value = critic(next_state).squeeze(-1)
    td_error = reward + gamma * next_value * (~done).float() - value
    critic_loss = td_error.pow(2).mean()
    actor_loss = -(dist.log_prob(action) * td_error.detach()).mean() - 0.01 * dist.entropy().mean()

    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()
    actor_opt.zero_grad()
    actor_loss.backward()
    actor_opt.step()
    state = env.state()
    if it % 400 == 399:
        print(f"step {it + 1}  critic loss {critic_loss.item():.3f}  reward {reward.mean().item():.3f}")


def rollout(start):
    sim = Corridor()
    sim.pos = torch.full((n_envs,), start)
    total, live, scale, won = torch.zeros(n_envs), torch.ones(n_envs), 1.0, torch.zeros(n_envs)
    for _ in range(59):
        with torch.no_grad():
            a = Categorical(logits=actor(sim.state())).sample()
        _, r, d = sim.step(a)
        total += scale * live * r
        won += live * (d & (r > 0)).float()
        live = live * (~d).float()
        scale *= gamma
    return total.mean().item(), won.mean().item()


with torch.no_grad():
    values = critic(torch.eye(n_cells)).squeeze(-1)
for start in (2, 6, 9):
    runs = [rollout(start) for _ in range(4)]
    ret = sum(r for r, _ in runs) / len(runs)
    won = sum(w for _, w in runs) / len(runs)
    print(f"cell {start}: value {values[start].item():7.3f}   return {ret:7.3f}   reached {won:.3f}")
