import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)

STATES, ACTIONS = 10, 6


class MaskedChain:
    """Walk to the right end; in each state only two of the actions are allowed."""

    def __init__(self):
        self.allowed = torch.zeros(STATES, ACTIONS, dtype=torch.bool)
        self.right = torch.randint(0, ACTIONS, (STATES,))
        self.left = (self.right + torch.randint(1, ACTIONS, (STATES,))) % ACTIONS
        self.allowed[torch.arange(STATES), self.right] = True
        self.allowed[torch.arange(STATES), self.left] = True

    def transitions(self, n):
        s = torch.randint(0, STATES, (n,))
        go_right = torch.rand(n) < 0.5
        a = torch.where(go_right, self.right[s], self.left[s])
        s_next = (s + torch.where(go_right, 1, -1)).clamp(0, STATES - 1)
        done = go_right & (s == STATES - 1)
        return {
            "obs": s,
            "mask": self.allowed[s],
            "act": a,
            "rew": done.float(),
            "done": done.float(),
            "obs_next": s_next,
            "mask_next": self.allowed[s_next],
        }


class QNet(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(STATES, hidden), nn.ReLU(), nn.Linear(hidden, ACTIONS))

    def forward(self, obs):
        return self.net(F.one_hot(obs, STATES).float())


class DQNPolicy:
    def __init__(self, model, gamma=0.9, target_update_freq=20):
        self.model = model
        self.model_old = QNet()
        self.sync_weight()
        self.optim = torch.optim.Adam(model.parameters(), lr=5e-3)
        self.gamma, self.freq, self.iter = gamma, target_update_freq, 0

    def sync_weight(self):
        self.model_old.load_state_dict(self.model.state_dict())

    @torch.no_grad()
    def act(self, obs, mask):
        q = self.model(obs)
        return q.masked_fill(~mask, float("-inf")).argmax(1)

    @torch.no_grad()
    def target_q(self, batch):
        q = self.model_old(batch["obs_next"])
        best = q.max(dim=1).values
        return batch["rew"] + self.gamma * (1 - batch["done"]) * best

    def learn(self, batch):
        if self.iter % self.freq == 0:
            self.sync_weight()
        q = self.model(batch["obs"]).gather(1, batch["act"].unsqueeze(1)).squeeze(1)
        loss = F.mse_loss(q, self.target_q(batch))
        self.optim.zero_grad()
        loss.backward()
        self.optim.step()
        self.iter += 1
        return loss.item(), q.mean().item()


def main():
    env = MaskedChain()
    policy = DQNPolicy(QNet())
    for it in range(1, 601):
        loss, mean_q = policy.learn(env.transitions(64))
        if it % 150 == 0:
            s = torch.arange(STATES)
            greedy = (policy.act(s, env.allowed) == env.right).float().mean().item()
            true = 0.9 ** torch.arange(STATES - 1, -1, -1.0)
            off = (policy.model(s)[s, env.right] - true).abs().mean().item()
            print(
                f"iter {it}: loss {loss:.5f} mean q {mean_q:.3f} right actions {greedy:.2f} values off by {off:.3f}"
            )


if __name__ == "__main__":
    main()
