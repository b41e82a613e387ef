import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

N_STATES, N_ACTIONS, GAMMA, ALPHA = 10, 5, 0.9, 0.1


class Chain:
    """Walk on a line: action a moves by a - 2, the right end pays."""

    def reset(self, rng):
        self.s = int(rng.integers(N_STATES - 1))
        return self.s

    def step(self, a):
        self.s = int(np.clip(self.s + a - 2, 0, N_STATES - 1))
        done = self.s == N_STATES - 1
        return self.s, 1.0 if done else -0.05 * abs(a - 2), done


def mlp(out):
    return nn.Sequential(nn.Linear(N_STATES, 48), nn.ReLU(), nn.Linear(48, out))


class SACDiscrete:
    def __init__(self):
        self.actor = mlp(N_ACTIONS)
        self.critics = [mlp(N_ACTIONS) for _ in range(2)]
        self.targets = [mlp(N_ACTIONS) for _ in range(2)]
        for c, t in zip(self.critics, self.targets):
            t.load_state_dict(c.state_dict())
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=2e-3)
        self.critic_optimizers = [torch.optim.Adam(c.parameters(), lr=2e-3) for c in self.critics]

    def produce_action_info(self, state):
        probs = F.softmax(self.actor(state), dim=-1)
        return probs, torch.log(probs + 1e-8)

    def calculate_critic_losses(self, s, a, r, s2, done):
        with torch.no_grad():
            probs, log_probs = self.produce_action_info(s2)
            q_next = torch.min(self.targets[0](s2), self.targets[1](s2))
            min_qf_next_target = probs * (q_next - ALPHA * log_probs)
            min_qf_next_target = min_qf_next_target.sum(dim=1).unsqueeze(-1)
            next_q_value = r + (1.0 - done) * GAMMA * min_qf_next_target
        return [F.mse_loss(c(s).gather(1, a), next_q_value) for c in self.critics]

    def calculate_actor_loss(self, s):
        probs, log_probs = self.produce_action_info(s)
        with torch.no_grad():
            q = torch.min(self.critics[0](s), self.critics[1](s))
        inside_term = ALPHA * log_probs - q
        return (probs * inside_term).sum(dim=1).mean()

    def learn(self, batch):
        for loss, opt in zip(self.calculate_critic_losses(*batch), self.critic_optimizers):
            opt.zero_grad()
            loss.backward()
            opt.step()
        actor_loss = self.calculate_actor_loss(batch[0])
        self.actor_optimizer.zero_grad()
        actor_loss.backward()
        self.actor_optimizer.step()
        for c, t in zip(self.critics, self.targets):
            for p, tp in zip(c.parameters(), t.parameters()):
                tp.data.lerp_(p.data, 0.02)
        return loss.item(), actor_loss.item()


def to_batch(items):
    s, a, r, s2, d = map(np.array, zip(*items))
    eye = torch.eye(N_STATES)
    col = lambda v: torch.as_tensor(v, dtype=torch.float32).unsqueeze(1)
    return eye[torch.as_tensor(s)], torch.as_tensor(a).unsqueeze(1), col(r), eye[torch.as_tensor(s2)], col(d)


torch.manual_seed(0)
rng = np.random.default_rng(0)
env, agent, memory = Chain(), SACDiscrete(), []
state, returns, ret = env.reset(rng), [], 0.0
for step in range(1, 1501):
    with torch.no_grad():
        probs, _ = agent.produce_action_info(torch.eye(N_STATES)[state])
    action = int(rng.choice(N_ACTIONS, p=probs.double().numpy() / probs.double().sum().item()))
    nxt, reward, done = env.step(action)
    memory.append((state, action, reward, nxt, float(done)))
    ret += reward
    if done:
        returns.append(ret)
        state, ret = env.reset(rng), 0.0
    else:
        state = nxt
    if step > 100 and step % 2 == 0:
        batch = to_batch([memory[i] for i in rng.integers(0, len(memory), 64)])
        qf_loss, actor_loss = agent.learn(batch)
    if step % 300 == 0:
        print(
            f"step {step}: return {np.mean(returns[-20:]):.3f}  qf {qf_loss:.4f}  actor {actor_loss:.4f}  episodes {len(returns)}"
        )
