import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical


def mlp(out):
    return nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, out))


class Market:
    """Each day one of three goods pays; now and then the price makes a jump."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.rule = torch.randn(6, 3, generator=self.generator)

    def day(self, n):
        state = torch.randn(n, 6, generator=self.generator)
        jump = torch.rand(n, generator=self.generator) < 0.02
        scale = torch.where(jump, torch.tensor(4000.0), torch.tensor(1.0))
        return state, scale

    def reward(self, state, action, scale):
        best = (state @ self.rule).argmax(1)
        return (action == best).float() * 2 * scale - scale


class ActorCritic:
    def __init__(self, lr=0.05, max_norm=1.0):
        self.actor, self.critic = mlp(3), mlp(1)
        self.pi_optimizer = torch.optim.SGD(self.actor.parameters(), lr=lr)
        self.critic_optimizer = torch.optim.SGD(self.critic.parameters(), lr=0.01)
        self.max_norm = max_norm

    def critic_update(self, state, reward):
        loss = F.smooth_l1_loss(self.critic(state).squeeze(1), reward)
        self.critic_optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.critic.parameters(), self.max_norm)
        self.critic_optimizer.step()

    def pi_update(self, state, action, reward):
        advantage = reward - self.critic(state).squeeze(1).detach()
        dist = Categorical(logits=self.actor(state))
        loss = -(dist.log_prob(action) * advantage).mean()
        self.pi_optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.actor.parameters(), self.max_norm)
        self.pi_optimizer.step()
        return loss.item(), dist.entropy().mean().item()


def main():
    torch.manual_seed(0)
    market = Market(0)
    agent = ActorCritic()
    for episode in range(1201):
        state, scale = market.day(64)
        with torch.no_grad():
            action = Categorical(logits=agent.actor(state)).sample()
        reward = market.reward(state, action, scale)
        agent.critic_update(state, reward)
        loss, entropy = agent.pi_update(state, action, reward)
        if episode % 200 == 0:
            with torch.no_grad():
                hit = (agent.actor(state).argmax(1) == (state @ market.rule).argmax(1)).float().mean()
            largest = max(p.abs().max().item() for p in agent.actor.parameters())
            print(f"{episode}: pi loss {loss:.3f}  entropy {entropy:.3f}  hits {hit:.2f}  largest weight {largest:.1f}")


if __name__ == "__main__":
    main()
