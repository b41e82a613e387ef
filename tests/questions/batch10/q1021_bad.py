import torch
import torch.nn as nn

torch.manual_seed(0)


class ChainEnv:
    """Walk right along a chain; reward 1 at its end."""

    def __init__(self, n=6):
        self.n = n

    def obs(self, s):
        return nn.functional.one_hot(s, self.n).float()

    def step(self, s, a):
        nxt = (s + 2 * a - 1).clamp(0, self.n - 1)
        done = nxt == self.n - 1
        return nxt, done.float(), done


class QNet(nn.Module):
    def __init__(self, n, n_actions=2):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n, 32), nn.ReLU(), nn.Linear(32, n_actions))

    def forward(self, x):
        return self.net(x)


class Policy:
    def __init__(self, n, gamma=0.9, target_update_cycle=20):
        self.eval_net = QNet(n)
        self.target_net = QNet(n)
        self.target_net.load_state_dict(self.eval_net.state_dict())
        self.optimizer = torch.optim.RMSprop(self.eval_net.parameters(), lr=2e-3)
        self.gamma = gamma
        self.target_update_cycle = target_update_cycle

    def learn(self, obs, action, reward, next_obs, done, train_step):
        q = self.eval_net(obs).gather(1, action.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            q_next = self.target_net(next_obs).max(1)[0]
            target = reward + self.gamma * q_next * (1 - done.float())
        loss = (q - target).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.eval_net.parameters(), 10.0)
        self.optimizer.step()
        if train_step > 0 and train_step % self.target_update_cycle == 0:
            self.target_net.load_state_dict(self.target_net.state_dict())
        return loss.item()


env = ChainEnv()
policy = Policy(env.n)
for step in range(801):
    s = torch.randint(0, env.n - 1, (64,))
    a = torch.randint(0, 2, (64,))
    s2, r, d = env.step(s, a)
    loss = policy.learn(env.obs(s), a, r, env.obs(s2), d, step)
    if step % 100 == 0:
        print(f"step {step:4d} loss {loss:.5f}")

states = torch.arange(env.n - 1)
values = policy.eval_net(env.obs(states)).max(1)[0]
print("values  ", [round(v, 2) for v in values.tolist()])
print("expected", [round(0.9 ** (env.n - 2 - int(s)), 2) for s in states])
