import copy
import torch
import torch.nn as nn
import torch.nn.functional as F


class Corridor:
    def __init__(self, length=12):
        self.length = length

    def features(self, s):
        grid = torch.linspace(0, 1, 8)
        return torch.exp(-((s[:, None] / (self.length - 1) - grid) / 0.25) ** 2)

    def batch(self, n):
        s = torch.randint(0, self.length - 1, (n,))
        a = torch.randint(0, 2, (n,))
        nxt = (s + 2 * a - 1).clamp(min=0)
        done = (nxt == self.length - 1).float()
        return self.features(s.float()), a, done - 0.02, self.features(nxt.float()), 1.0 - done


class DQNTrainer:
    def __init__(self, q_network, gamma=0.99, lr=0.05, target_update=200, double_q_learning=False):
        self.q_network = q_network
        self.q_network_target = copy.deepcopy(q_network)
        self.gamma = gamma
        self.target_update = target_update
        self.double_q_learning = double_q_learning
        self.optimizer = torch.optim.SGD(q_network.parameters(), lr=lr, momentum=0.9)
        self.minibatch = 0

    @torch.no_grad()
    def get_detached_q_values(self, state):
        return self.q_network(state), self.q_network_target(state)

    def get_max_q_values_with_target(self, q_values, q_values_target):
        if self.double_q_learning:
            max_indices = q_values.argmax(dim=1, keepdim=True)
            return q_values_target.gather(1, max_indices).squeeze(1)
        return q_values_target.max(dim=1).values

    def train(self, state, action, reward, next_state, not_done):
        all_next_q, all_next_q_target = self.get_detached_q_values(next_state)
        next_q = self.get_max_q_values_with_target(all_next_q, all_next_q_target)
        target_q = reward + self.gamma * not_done * next_q
        q = self.q_network(state).gather(1, action[:, None]).squeeze(1)
        loss = F.smooth_l1_loss(q, target_q)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.minibatch += 1
        if self.minibatch % self.target_update == 0:
            self.q_network_target.load_state_dict(self.q_network.state_dict())
        return loss.item()


torch.manual_seed(0)
env = Corridor()
q_network = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 2))
trainer = DQNTrainer(q_network)
states = env.features(torch.arange(env.length - 1.0))
optimal = [0.98]
for _ in range(env.length - 2):
    optimal.insert(0, -0.02 + 0.99 * optimal[0])
for step in range(2401):
    loss = trainer.train(*env.batch(32))
    if step % 300 == 0:
        with torch.no_grad():
            q = q_network(states)
        err = (q.max(1).values - torch.tensor(optimal)).abs().mean()
        print(f"minibatch {step} td loss {loss:.4f} mean of max Q {q.max(1).values.mean():.3f} (optimal {sum(optimal) / len(optimal):.3f}) error {err:.3f} steps to the right {int(q.argmax(1).sum())}")
