import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)

LAYERS, FEATURES, HIDDEN = 12, 6, 32
ROUNDS, ROLLOUTS = 250, 8

layer_info = torch.randn(LAYERS, FEATURES)
useful = (layer_info @ torch.randn(FEATURES) > 0).long()


def accuracy_after_pruning(choice):
    kept = choice.float()
    hit = (kept * useful).sum() / useful.sum()
    size = kept.sum() / LAYERS
    ideal = useful.float().mean()
    return (hit - 0.8 * (size - ideal).clamp(min=0)
            - 0.5 * (kept * (1 - useful)).sum() / LAYERS).item()


class Controller(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(FEATURES, HIDDEN)
        self.head = nn.Linear(HIDDEN, 2)

    def forward(self, info, state=None):
        h, c = self.cell(info, state)
        return torch.softmax(self.head(h), dim=-1), (h, c)


controller = Controller()
optimizer = torch.optim.Adam(controller.parameters(), lr=5e-3)
baseline = None

for round_ in range(ROUNDS):
    loss = 0.0
    rewards = []
    for _ in range(ROLLOUTS):
        actions, state = [], None
        for i in range(LAYERS):
            probs, state = controller(layer_info[i:i + 1], state)
            action = Categorical(probs).sample()
            actions.append(action)
        reward = accuracy_after_pruning(torch.cat(actions))
        rewards.append(reward)
        baseline = reward if baseline is None else 0.95 * baseline + 0.05 * reward
        for action in actions:
            m = Categorical(probs)
            loss = loss - (m.log_prob(action) * (reward - baseline)).sum()
    loss = loss / ROLLOUTS
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if round_ % 50 == 0:
        print(f"round {round_:4d}  mean reward {sum(rewards) / ROLLOUTS:.3f}")

with torch.no_grad():
    picked, state = [], None
    for i in range(LAYERS):
        probs, state = controller(layer_info[i:i + 1], state)
        picked.append(probs.argmax(dim=-1))
    picked = torch.cat(picked)
print("chosen ", picked.tolist())
print("useful ", useful.tolist())
print(f"final reward {accuracy_after_pruning(picked):.3f}  "
      f"right decisions {(picked == useful).float().mean().item():.3f}")
