import torch
import torch.nn as nn
from torch.distributions import Categorical


class ActorCritic(nn.Module):
    def __init__(self, obs=8, hidden=32, actions=4):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(obs, hidden), nn.Tanh(), nn.Linear(hidden, actions))
        self.critic = nn.Sequential(nn.Linear(obs, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, state):
        return torch.softmax(self.actor(state), dim=-1), self.critic(state)


class PPO:
    def __init__(self, lr=1e-2, k_epochs=4, eps_clip=0.2, vloss_coef=0.5, ploss_coef=2.0, entloss_coef=0.01):
        self.policy = ActorCritic()
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=lr)
        self.k_epochs, self.eps_clip = k_epochs, eps_clip
        self.vloss_coef, self.ploss_coef, self.entloss_coef = vloss_coef, ploss_coef, entloss_coef

    def update(self, states, actions, old_logprobs, rewards):
        for _ in range(self.k_epochs):
            pi, vals = self.policy(states)
            dist = Categorical(pi)
            logprobs, ent = dist.log_prob(actions), dist.entropy().mean()
            ratios = torch.exp(logprobs - old_logprobs)
            advantages = rewards - vals.view(-1).detach()
            surr1 = ratios * advantages
            surr2 = torch.clamp(ratios, 1 - self.eps_clip, 1 + self.eps_clip) * advantages
            v_loss = nn.functional.mse_loss(vals.squeeze(), rewards)
            p_loss = -torch.min(surr1, surr2).mean()
            loss = self.vloss_coef * v_loss + self.ploss_coef * p_loss - self.entloss_coef * ent
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()


torch.manual_seed(3)
ppo = PPO()
best = torch.randn(8, 4)
for it in range(60):
    states = torch.randn(128, 8)
    with torch.no_grad():
        pi, _ = ppo.policy(states)
        dist = Categorical(pi)
        actions = dist.sample()
        old_logprobs = dist.log_prob(actions)
    gain = states @ best
    rewards = (actions == gain.argmax(-1)).float() + 2.0 * states[:, 0]
    loss = ppo.update(states, actions, old_logprobs, rewards)
    if it % 10 == 9:
        hit = (actions == gain.argmax(-1)).float().mean().item()
        print(f"iteration {it}: loss {loss:.3f}, share of best moves {hit:.3f}")
