import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

GAMMA = 0.95
REWARD_STEPS = 2
ENTROPY_BETA = 0.01


class A2C(nn.Module):
    def __init__(self, obs=6, actions=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, 48), nn.Tanh())
        self.policy = nn.Linear(48, actions)
        self.value = nn.Linear(48, 1)

    def forward(self, x):
        h = self.body(x)
        return self.policy(h), self.value(h)


class Envs:
    def __init__(self, n=16, obs=6, actions=3):
        self.w = torch.randn(obs, actions)
        self.move = 0.3 * torch.randn(actions, obs)
        self.n = n
        self.s = torch.randn(n, obs)

    def step(self, a):
        r = (self.s @ self.w).gather(1, a.view(-1, 1)).squeeze(1) * 0.3
        done = torch.rand(self.n) < 0.1
        s2 = 0.8 * self.s + self.move[a] + 0.1 * torch.randn_like(self.s)
        s2[done] = torch.randn(int(done.sum()), s2.size(1))
        self.s = s2
        return r, done, s2


def unpack_batch(batch, net):
    states, actions, rewards, last_states, dones = batch
    last_vals_v = net(last_states)[1].squeeze(1)
    ref_vals_v = rewards + GAMMA**REWARD_STEPS * last_vals_v * (~dones).float()
    return states, actions, ref_vals_v


def collect(net, envs):
    s = envs.s
    first, total, alive = None, torch.zeros(envs.n), torch.ones(envs.n, dtype=torch.bool)
    for k in range(REWARD_STEPS):
        with torch.no_grad():
            a = torch.distributions.Categorical(logits=net(envs.s)[0]).sample()
        first = a if first is None else first
        r, done, s2 = envs.step(a)
        total = total + GAMMA**k * r * alive.float()
        alive = alive & ~done
    return (s, first, total, s2, ~alive), total.mean().item()


def main():
    net, envs = A2C(), Envs()
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    recent = []
    for it in range(500):
        batch, mean_reward = collect(net, envs)
        recent.append(mean_reward)
        states, actions, vals_ref_v = unpack_batch(batch, net)
        optimizer.zero_grad()
        logits_v, value_v = net(states)
        loss_value_v = F.mse_loss(value_v.squeeze(-1), vals_ref_v.detach())

        log_prob_v = F.log_softmax(logits_v, dim=1)
        adv_v = (vals_ref_v - value_v.squeeze(-1)).detach()
        log_prob_actions_v = adv_v * log_prob_v[range(len(actions)), actions]
        loss_policy_v = -log_prob_actions_v.mean()
        prob_v = F.softmax(logits_v, dim=1)
        entropy_loss_v = ENTROPY_BETA * (prob_v * log_prob_v).sum(dim=1).mean()

        loss_v = loss_policy_v + entropy_loss_v + loss_value_v
        loss_v.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()
        if it % 100 == 99:
            print(
                f"{it} reward {sum(recent[-100:]) / 100:.3f} "
                f"value loss {loss_value_v.item():.4f} mean value {value_v.mean().item():.3f}"
            )


if __name__ == "__main__":
    main()
