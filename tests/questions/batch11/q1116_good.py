import numpy as np
import torch as th
import torch.nn as nn
import torch.nn.functional as F


def build(inp, out):
    return nn.Sequential(nn.Linear(inp, 64), nn.ReLU(), nn.Linear(64, out))


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = build(2, 2)

    def action_log_prob(self, obs):
        mean, log_std = self.net(obs).chunk(2, dim=1)
        dist = th.distributions.Normal(mean, log_std.clamp(-3, 1).exp())
        x = dist.rsample()
        action = th.tanh(x)
        log_prob = dist.log_prob(x) - th.log(1 - action.pow(2) + 1e-6)
        return action, log_prob.sum(dim=1)


class Pendulumish:
    """A mass on a line is to be stopped near the origin; falling out at 2 ends the episode."""

    def reset(self, rng):
        self.x = rng.uniform(-1, 1, 2).astype(np.float32)
        self.t = 0
        return self.x.copy()

    def step(self, a):
        pos, vel = self.x
        vel = 0.95 * vel + 0.3 * float(a)
        pos = pos + 0.3 * vel
        self.x = np.array([pos, vel], dtype=np.float32)
        self.t += 1
        done = abs(pos) > 2
        return self.x.copy(), -(pos**2) - 0.1 * vel**2 - 5.0 * done, done


class SAC:
    def __init__(self, gamma=0.95, tau=0.02, ent_coef=0.1):
        self.gamma, self.tau, self.ent_coef = gamma, tau, ent_coef
        self.actor = Actor()
        self.q1, self.q2, self.q1_target, self.q2_target = (build(3, 1) for _ in range(4))
        self.q1_target.load_state_dict(self.q1.state_dict())
        self.q2_target.load_state_dict(self.q2.state_dict())
        self.actor_optim = th.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_optim = th.optim.Adam([*self.q1.parameters(), *self.q2.parameters()], lr=1e-3)

    def train(self, obs, actions, rewards, next_obs, dones):
        with th.no_grad():
            next_action, next_log_prob = self.actor.action_log_prob(next_obs)
            nxt = th.cat([next_obs, next_action], dim=1)
            target_q = th.min(self.q1_target(nxt), self.q2_target(nxt))
            target_q = target_q - self.ent_coef * next_log_prob.reshape(-1, 1)
            q_backup = rewards + (1 - dones) * self.gamma * target_q
        cur = th.cat([obs, actions], dim=1)
        critic_loss = F.mse_loss(self.q1(cur), q_backup) + F.mse_loss(self.q2(cur), q_backup)
        self.critic_optim.zero_grad()
        critic_loss.backward()
        self.critic_optim.step()
        pi, log_prob = self.actor.action_log_prob(obs)
        here = th.cat([obs, pi], dim=1)
        actor_loss = (self.ent_coef * log_prob.reshape(-1, 1) - th.min(self.q1(here), self.q2(here))).mean()
        self.actor_optim.zero_grad()
        actor_loss.backward()
        self.actor_optim.step()
        with th.no_grad():
            for net, tgt in ((self.q1, self.q1_target), (self.q2, self.q2_target)):
                for p, tp in zip(net.parameters(), tgt.parameters()):
                    tp.lerp_(p, self.tau)
        return critic_loss.item(), q_backup.mean().item()


def main():
    th.manual_seed(1)
    rng = np.random.default_rng(1)
    env, agent, replay = Pendulumish(), SAC(), []
    obs, ret, returns = env.reset(rng), 0.0, []
    for step in range(1, 1201):
        with th.no_grad():
            action = agent.actor.action_log_prob(th.from_numpy(obs)[None])[0].item()
        new_obs, reward, done = env.step(action)
        replay.append((obs, [action], [reward], new_obs, [float(done)]))
        ret += reward
        obs = new_obs
        if done or env.t >= 40:
            returns.append(ret)
            obs, ret = env.reset(rng), 0.0
        if step > 100 and step % 2 == 0:
            items = [replay[i] for i in rng.integers(0, len(replay), 64)]
            batch = [th.as_tensor(np.array(col), dtype=th.float32) for col in zip(*items)]
            critic_loss, q_mean = agent.train(*batch)
        if step % 300 == 0:
            print(
                f"step {step}: return {np.mean(returns[-5:]):.2f}  critic {critic_loss:.3f}  target {q_mean:.3f}"
            )


main()
