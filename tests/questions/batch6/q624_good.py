import copy

import torch
from torch import nn

torch.manual_seed(0)


class QNet(nn.Module):
    def __init__(self, n_states=4, n_actions=3, hidden=64):
        super().__init__()
        self.fc1 = nn.Linear(n_states, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, n_actions)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return self.fc3(x)


class DoubleDQN:
    def __init__(self, model, gamma=0.95, lr=1e-3, target_update=50):
        self.gamma, self.target_update = gamma, target_update
        self.policy_net = model
        self.target_net = copy.deepcopy(model)
        self.optimizer = torch.optim.Adam(self.policy_net.parameters(), lr=lr)
        self.sample_count = 0

    def update(self, state, action, reward, next_state, done):
        q_values = self.policy_net(state).gather(1, action)
        next_action = self.policy_net(next_state).argmax(1, keepdim=True)
        next_target = self.target_net(next_state).gather(1, next_action).detach()
        q_target = reward + self.gamma * next_target * (1 - done)
        loss = nn.MSELoss()(q_values, q_target)
        self.optimizer.zero_grad()
        loss.backward()
        for param in self.policy_net.parameters():
            param.grad.data.clamp_(-1, 1)
        self.optimizer.step()
        self.sample_count += 1
        if self.sample_count % self.target_update == 0:
            self.target_net.load_state_dict(self.policy_net.state_dict())
        return loss.item()


def transition(state, action):
    push = (action - 1).float()
    next_state = state.clone()
    next_state[:, 1:2] = 0.9 * state[:, 1:2] + 0.3 * push
    next_state[:, :1] = state[:, :1] + next_state[:, 1:2]
    reward = 1 - next_state[:, :1].abs()
    done = (next_state[:, :1].abs() > 3).float()
    return reward, next_state, done


agent = DoubleDQN(QNet())
state = torch.randn(64, 4)
for step in range(1, 601):
    with torch.no_grad():
        action = agent.policy_net(state).argmax(1, keepdim=True)
    explore = torch.rand(64, 1) < 0.2
    action = torch.where(explore, torch.randint(0, 3, (64, 1)), action)
    reward, next_state, done = transition(state, action)
    loss = agent.update(state, action, reward, next_state, done)
    state = torch.where((done > 0) | (torch.rand(64, 1) < 0.05), torch.randn(64, 4), next_state)
    if step % 100 == 0:
        print(f"step {step}: loss {loss:.4f}, reward {reward.mean():.3f}")
