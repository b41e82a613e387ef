import torch
from torch import nn

torch.manual_seed(4)


class FeaturesExtractor(nn.Module):
    def __init__(self, observation_dim, features_dim=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(observation_dim, features_dim), nn.ReLU())

    def forward(self, observation):
        return self.net(observation)


class QNetwork(nn.Module):
    def __init__(self, features_extractor, n_actions):
        super().__init__()
        self.features_extractor = features_extractor
        self.q_net = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, n_actions))

    def forward(self, observation):
        return self.q_net(self.features_extractor(observation))


class DQNPolicy:
    def __init__(self, observation_dim, n_actions):
        self.features_extractor = FeaturesExtractor(observation_dim)
        self.q_net = self.make_q_net(n_actions)
        self.q_net_target = self.make_q_net(n_actions)
        self.q_net_target.load_state_dict(self.q_net.state_dict())
        self.optimizer = torch.optim.Adam(self.q_net.parameters(), lr=1e-3)

    def make_q_net(self, n_actions):
        return QNetwork(self.features_extractor, n_actions)

    def polyak_update(self, tau):
        with torch.no_grad():
            for param, target in zip(self.q_net.parameters(), self.q_net_target.parameters()):
                target.mul_(1 - tau).add_(param, alpha=tau)


def collect(count):
    state = torch.rand(count, 2) * 2 - 1
    action = torch.randint(0, 3, (count,))
    move = (action.float() - 1) * 0.2
    next_state = state.clone()
    next_state[:, 0] = (state[:, 0] + move).clamp(-1, 1)
    reward = -(next_state[:, 0] - next_state[:, 1]).abs()
    return state, action, reward, next_state


policy = DQNPolicy(2, 3)
for step in range(600):
    state, action, reward, next_state = collect(128)
    with torch.no_grad():
        next_q = policy.q_net_target(next_state).max(1).values
        target_q = reward + 0.95 * next_q
    current_q = policy.q_net(state).gather(1, action[:, None]).squeeze(1)
    loss = nn.functional.smooth_l1_loss(current_q, target_q)
    policy.optimizer.zero_grad()
    loss.backward()
    policy.optimizer.step()
    policy.polyak_update(0.005)
    if step % 100 == 0:
        print(f"step {step}: loss {loss.item():.4f} mean q {current_q.mean().item():.3f}")
