import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(17)
torch.set_num_threads(1)

STATES, ACTIONS, HORIZON = 6, 4, 12


class Chain:
    def reset(self):
        self.s, self.t = torch.randint(0, STATES, (1,)).item(), 0
        return self.obs()

    def obs(self):
        return F.one_hot(torch.tensor(self.s), STATES).float()

    def step(self, a):
        good = a == (self.s * 3 + 1) % ACTIONS
        reward = 0.3 if good else 0.0
        self.s = (self.s + (1 if good else 3)) % STATES
        self.t += 1
        return self.obs(), reward, self.t >= HORIZON


def mlp(out):
    return nn.Sequential(nn.Linear(STATES, 32), nn.ReLU(), nn.Linear(32, out))


class SACDiscrete:
    def __init__(self, gamma=0.8, alpha=0.03, lr=3e-3, tau=0.02):
        self.actor, self.critic_local, self.critic_local_2 = mlp(ACTIONS), mlp(ACTIONS), mlp(ACTIONS)
        self.critic_target = copy.deepcopy(self.critic_local)
        self.critic_target_2 = copy.deepcopy(self.critic_local_2)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=lr)
        self.critic_opt = torch.optim.Adam(self.critic_local.parameters(), lr=lr)
        self.critic_opt_2 = torch.optim.Adam(self.critic_local_2.parameters(), lr=lr)
        self.gamma, self.alpha, self.tau = gamma, alpha, tau

    def produce_action_info(self, state):
        probs = F.softmax(self.actor(state), dim=-1)
        return torch.multinomial(probs, 1), probs, torch.log(probs + 1e-8)

    def calculate_critic_losses(self, s, a, r, s2, mask):
        with torch.no_grad():
            _, probs, log_probs = self.produce_action_info(s2)
            q_next = torch.min(self.critic_target(s2), self.critic_target_2(s2))
            v_next = (probs * (q_next - self.alpha * log_probs)).sum(dim=1, keepdim=True)
            target = r + (1.0 - mask) * self.gamma * v_next
        return (F.mse_loss(self.critic_local(s).gather(1, a), target),
                F.mse_loss(self.critic_local_2(s).gather(1, a), target))

    def calculate_actor_loss(self, s):
        _, action_probabilities, log_action_probabilities = self.produce_action_info(s)
        with torch.no_grad():
            min_qf_pi = torch.min(self.critic_local(s), self.critic_local_2(s))
        inside_term = self.alpha * log_action_probabilities - min_qf_pi
        policy_loss = (action_probabilities * inside_term).sum(dim=1).mean()
        entropy = -(action_probabilities * log_action_probabilities).sum(dim=1).mean()
        return policy_loss, entropy

    def learn(self, batch):
        s, a, r, s2, mask = batch
        l1, l2 = self.calculate_critic_losses(s, a, r, s2, mask)
        for opt, l in ((self.critic_opt, l1), (self.critic_opt_2, l2)):
            opt.zero_grad()
            l.backward()
            opt.step()
        policy_loss, entropy = self.calculate_actor_loss(s)
        self.actor_opt.zero_grad()
        policy_loss.backward()
        self.actor_opt.step()
        with torch.no_grad():
            for t, l in ((self.critic_target, self.critic_local), (self.critic_target_2, self.critic_local_2)):
                for pt, pl in zip(t.parameters(), l.parameters()):
                    pt.mul_(1 - self.tau).add_(self.tau * pl)
        return l1.item(), policy_loss.item(), entropy.item()


env, agent, memory = Chain(), SACDiscrete(), []
returns, stats = [], (0, 0, 0)
for episode in range(120):
    s, done, total = env.reset(), False, 0.0
    while not done:
        with torch.no_grad():
            a = agent.produce_action_info(s.unsqueeze(0))[0].item()
        s2, r, done = env.step(a)
        memory.append((s, a, r, s2, 0.0))
        s, total = s2, total + r
        if len(memory) > 100:
            idx = torch.randint(0, len(memory), (32,)).tolist()
            b = [memory[i] for i in idx]
            stats = agent.learn((torch.stack([m[0] for m in b]), torch.tensor([[m[1]] for m in b]),
                                 torch.tensor([[m[2]] for m in b]), torch.stack([m[3] for m in b]),
                                 torch.tensor([[m[4]] for m in b])))
    returns.append(total)
    if episode % 20 == 19:
        print(f"episode {episode + 1}  return {sum(returns[-20:]) / 20:.2f} of {0.3 * HORIZON:.1f}  "
              f"critic {stats[0]:.4f}  policy {stats[1]:.3f}  entropy {stats[2]:.3f}")
