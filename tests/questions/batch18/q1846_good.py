import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(11)
LENGTH, WORKERS, ROLLOUT, DISCOUNT, TAU = 9, 16, 10, 0.97, 0.95


class Corridor:
    def __init__(self, n):
        self.n = n
        self.position = torch.randint(0, LENGTH - 1, (n,))

    def state(self):
        return F.one_hot(self.position, LENGTH).float()

    def step(self, actions):
        self.position = (self.position + 2 * actions - 1).clamp(min=0)
        done = self.position == LENGTH - 1
        rewards = torch.where(done, 1.0, -0.02)
        self.position = torch.where(done, torch.randint(0, LENGTH - 1, (self.n,)), self.position)
        return rewards, 1 - done.float()


class ActorCriticNet(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(LENGTH, hidden), nn.Tanh())
        self.fc_actor, self.fc_critic = nn.Linear(hidden, 2), nn.Linear(hidden, 1)

    def forward(self, x):
        phi = self.phi(x)
        return self.fc_actor(phi), self.fc_critic(phi).squeeze(-1)


class A2CAgent:
    def __init__(self):
        self.task, self.network = Corridor(WORKERS), ActorCriticNet()
        self.optimizer = torch.optim.RMSprop(self.network.parameters(), lr=3e-3)
        self.finished = 0

    def iteration(self):
        rollout = []
        for _ in range(ROLLOUT):
            logits, values = self.network(self.task.state())
            actions = torch.distributions.Categorical(logits=logits).sample()
            rewards, masks = self.task.step(actions)
            self.finished += int((1 - masks).sum())
            rollout.append([logits, values, actions, rewards, masks])
        pending_value = self.network(self.task.state())[1]
        rollout.append([torch.zeros_like(logits), pending_value, torch.zeros_like(actions), None, None])

        processed, advantages = [], torch.zeros(WORKERS)
        returns = pending_value.detach()
        for i in reversed(range(ROLLOUT)):
            logits, value, actions, rewards, masks = rollout[i]
            next_value = rollout[i + 1][1]
            returns = rewards + DISCOUNT * masks * returns
            td_error = rewards + DISCOUNT * masks * next_value.detach() - value.detach()
            advantages = advantages * TAU * DISCOUNT * masks + td_error
            processed.append([logits, value, actions, returns, advantages])

        logits, value, action, returns, advantages = (torch.cat(x) for x in zip(*processed))
        distribution = torch.distributions.Categorical(logits=logits)
        policy_loss = -(distribution.log_prob(action) * advantages).mean()
        value_loss = 0.5 * (returns - value).pow(2).mean()
        loss = policy_loss - 0.01 * distribution.entropy().mean() + value_loss
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 0.5)
        self.optimizer.step()
        return advantages.mean().item()


agent = A2CAgent()
for step in range(200):
    advantage = agent.iteration()
    if (step + 1) % 50 == 0:
        print(f"iteration {step + 1}: goals in the last 50 {agent.finished}, mean advantage {advantage:.3f}")
        agent.finished = 0
with torch.no_grad():
    right = agent.network(torch.eye(LENGTH)[:-1])[0].softmax(dim=1)[:, 1]
print("probability of a step to the goal:", [round(p, 2) for p in right.tolist()])
