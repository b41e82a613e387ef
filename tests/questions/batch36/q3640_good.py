import torch
import torch.nn as nn

torch.manual_seed(19)
ACTIONS, STATES = 16, 8
table = 0.3 * torch.rand(STATES, ACTIONS)
table[:, :6] = 0.8
table[torch.arange(STATES), torch.randint(6, ACTIONS, (STATES,))] = 1.0


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(STATES, 32), nn.Tanh())
        self.actor = nn.Linear(32, ACTIONS)
        self.critic = nn.Linear(32, 1)

    def forward(self, state):
        h = self.body(state)
        return torch.distributions.Categorical(logits=self.actor(h)), self.critic(h).squeeze(-1)


def rollout(model, count=256):
    index = torch.randint(0, STATES, (count,))
    state = torch.eye(STATES)[index]
    with torch.no_grad():
        dist, value = model(state)
        action = dist.sample()
    reward = table[index, action] + 0.1 * torch.randn(count)
    return state, action, dist.log_prob(action), reward, reward - value


model = ActorCritic()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
clip, entropy_coef = 0.2, 0.1
for update in range(1, 301):
    state, action, old_log_prob, reward, advantage = rollout(model)
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    for _ in range(2):
        dist, value = model(state)
        ratio = (dist.log_prob(action) - old_log_prob).exp()
        surrogate = torch.min(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage)
        entropy = dist.entropy().mean()
        value_loss = (value - reward).pow(2).mean()
        loss = -surrogate.mean() + 0.5 * value_loss - entropy_coef * entropy
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if update % 60 == 0:
        with torch.no_grad():
            probs = model(torch.eye(STATES))[0].probs
        print(f"update {update} entropy {entropy.item():.3f} reward {(probs * table).sum(1).mean():.3f}")
