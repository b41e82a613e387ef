import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

GAMMA = 0.95
N_ACTIONS = 4


class DuelingDQN(nn.Module):
    def __init__(self, obs_size, n_actions, hidden=48):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs_size, hidden), nn.ReLU())
        self.fc_adv = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, n_actions))
        self.fc_val = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, x):
        feat = self.body(x)
        val = self.fc_val(feat)
        adv = self.fc_adv(feat)
        return val + adv - adv.mean()


class GridBuffer:
    """Random walks on a 6x6 grid; the reward waits in one corner."""

    def __init__(self, rng, size=6, steps=3000):
        moves = np.array([[0, 1], [0, -1], [1, 0], [-1, 0]])
        pos = rng.integers(0, size, 2)
        self.data = []
        for _ in range(steps):
            action = int(rng.integers(N_ACTIONS))
            nxt = np.clip(pos + moves[action], 0, size - 1)
            done = bool((nxt == size - 1).all())
            self.data.append((self.encode(pos, size), action, float(done), self.encode(nxt, size), done))
            pos = rng.integers(0, size, 2) if done else nxt

    @staticmethod
    def encode(pos, size):
        return np.array([pos[0] / size, pos[1] / size], dtype=np.float32)

    def sample(self, rng, n):
        idx = rng.integers(0, len(self.data), n)
        s, a, r, s2, d = zip(*(self.data[i] for i in idx))
        return (
            torch.from_numpy(np.stack(s)),
            torch.tensor(a),
            torch.tensor(r),
            torch.from_numpy(np.stack(s2)),
            torch.tensor(d),
        )


def calc_loss(batch, net, tgt_net):
    states, actions, rewards, next_states, dones = batch
    q = net(states).gather(1, actions.unsqueeze(-1)).squeeze(-1)
    with torch.no_grad():
        next_q = tgt_net(next_states).max(1)[0]
        next_q[dones] = 0.0
    return F.mse_loss(q, rewards + GAMMA * next_q)


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    buffer = GridBuffer(rng)
    net, tgt_net = DuelingDQN(2, N_ACTIONS), DuelingDQN(2, N_ACTIONS)
    tgt_net.load_state_dict(net.state_dict())
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for step in range(1, 401):
        optimizer.zero_grad()
        loss = calc_loss(buffer.sample(rng, 64), net, tgt_net)
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            tgt_net.load_state_dict(net.state_dict())
            with torch.no_grad():
                q0 = net(torch.zeros(1, 2)).max().item()
            print(f"step {step}: loss {loss.item():.4f}  max Q(start) {q0:.3f}")


if __name__ == "__main__":
    main()
