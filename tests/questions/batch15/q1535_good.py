import torch
from torch import nn
from torch.distributions import Categorical

NUM_ENVS, NUM_STEPS, GAMMA, GAE_LAMBDA = 16, 64, 0.98, 0.95


class HoldEnv:
    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)

    def fresh(self):
        return torch.cat(
            [torch.zeros(NUM_ENVS, 1), torch.randn(NUM_ENVS, 1, generator=self.generator).sign()], 1
        )

    def reset(self):
        self.state = self.fresh()
        return self.state.clone()

    def step(self, action):
        offset, wind = self.state[:, 0], self.state[:, 1]
        move = torch.tensor([-0.03, 0.03, 0.0])[action.long()]
        gust = 0.15 * torch.randn(NUM_ENVS, generator=self.generator)
        offset = (offset + move + 0.03 * wind + gust).clamp(-2, 2)
        dropped = action == 2
        reward = torch.where(dropped, -1.0, torch.exp(-3 * offset.abs()))
        self.state = torch.where(dropped[:, None], self.fresh(), torch.stack([offset, wind], 1))
        return self.state.clone(), reward, dropped.float()


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 3))
        self.critic = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))

    def value(self, obs):
        return self.critic(obs).squeeze(-1)


def update(agent, optimizer, obs, actions, logprobs, advantages, returns):
    for _ in range(4):
        for rows in torch.randperm(len(obs)).split(256):
            dist = Categorical(logits=agent.actor(obs[rows]))
            ratio = (dist.log_prob(actions[rows]) - logprobs[rows]).exp()
            adv = advantages[rows]
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
            policy = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
            value = (agent.value(obs[rows]) - returns[rows]).pow(2).mean()
            loss = policy + 0.5 * value - 0.005 * dist.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()


def main():
    torch.manual_seed(0)
    env, agent = HoldEnv(seed=1), Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=4e-3)
    next_obs, next_done = env.reset(), torch.zeros(NUM_ENVS)
    for iteration in range(24):
        obs, actions = torch.zeros(NUM_STEPS, NUM_ENVS, 2), torch.zeros(NUM_STEPS, NUM_ENVS)
        logprobs, rewards, dones, values = (torch.zeros(NUM_STEPS, NUM_ENVS) for _ in range(4))
        drops, ending = 0, []
        for step in range(NUM_STEPS):
            obs[step], dones[step] = next_obs, next_done
            with torch.no_grad():
                dist = Categorical(logits=agent.actor(next_obs))
                actions[step] = dist.sample()
                logprobs[step], values[step] = dist.log_prob(actions[step]), agent.value(next_obs)
            next_obs, rewards[step], next_done = env.step(actions[step])
            drops += int(next_done.sum())
            ending.append(next_done.bool())
        with torch.no_grad():
            next_value = agent.value(next_obs)
        advantages, lastgaelam = torch.zeros(NUM_STEPS, NUM_ENVS), 0.0
        for t in reversed(range(NUM_STEPS)):
            last = t == NUM_STEPS - 1
            nextnonterminal = 1.0 - (next_done if last else dones[t + 1])
            nextvalues = next_value if last else values[t + 1]
            delta = rewards[t] + GAMMA * nextvalues * nextnonterminal - values[t]
            advantages[t] = lastgaelam = delta + GAMMA * GAE_LAMBDA * nextnonterminal * lastgaelam
        returns = advantages + values
        update(
            agent,
            optimizer,
            obs.flatten(0, 1),
            actions.flatten(),
            logprobs.flatten(),
            advantages.flatten(),
            returns.flatten(),
        )
        if iteration % 4 == 3:
            at_end = advantages[torch.stack(ending)]
            print(
                f"iteration {iteration + 1:2d}: reward per step {rewards.mean():.3f}  drops {drops:3d} of {NUM_STEPS * NUM_ENVS}"
                f"  mean advantage of the step that dropped {at_end.mean() if drops else float('nan'):.2f}"
                f"  value of the start state {agent.value(torch.zeros(1, 2)).item():.2f}"
            )


if __name__ == "__main__":
    main()
