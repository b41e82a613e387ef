import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
GAMMA = 0.9


class ActorCritic(nn.Module):
    def __init__(self, n_state=4, n_actions=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_state, 64), nn.ReLU())
        self.policy = nn.Linear(64, n_actions)
        self.value = nn.Linear(64, 1)

    def forward(self, x):
        h = self.body(x)
        return self.policy(h), self.value(h)


def environment_step(states, actions):
    best = (states[:, 0] > 0).long() + (states[:, 1] > 0).long()
    rewards = (actions == best).float()
    return rewards, torch.randn_like(states)


def unpack(net, states):
    with torch.no_grad():
        logits, _ = net(states)
        actions = torch.distributions.Categorical(logits=logits).sample()
        rewards, next_states = environment_step(states, actions)
        next_values = net(next_states)[1]
        return actions, rewards + GAMMA * next_values.squeeze(-1), rewards, next_states


net = ActorCritic()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
states = torch.randn(128, 4)
for step in range(1, 401):
    actions, vals_ref_v, rewards, next_states = unpack(net, states)
    logits_v, value_v = net(states)
    loss_value_v = F.mse_loss(value_v.squeeze(-1), vals_ref_v)

    log_prob_v = F.log_softmax(logits_v, dim=1)
    adv_v = vals_ref_v - value_v.detach()
    log_prob_actions_v = adv_v * log_prob_v[range(128), actions]
    loss_policy_v = -log_prob_actions_v.mean()

    prob_v = F.softmax(logits_v, dim=1)
    entropy_loss_v = 0.01 * (prob_v * log_prob_v).sum(dim=1).mean()
    optimizer.zero_grad()
    (loss_policy_v + loss_value_v + entropy_loss_v).backward()
    optimizer.step()
    states = next_states
    if step % 80 == 0:
        print(f"step {step}: reward {rewards.mean():.3f}, value loss {loss_value_v.item():.4f}")
