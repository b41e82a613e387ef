import torch
import torch.nn as nn
from torch.distributions import Categorical

N_ENVS, OBS, ACTIONS, HIDDEN = 8, 6, 3, 24


class RecurrentAgent(nn.Module):
    def __init__(self):
        super().__init__()
        self.obs_net = nn.Sequential(nn.Linear(OBS, HIDDEN), nn.ReLU())
        self.core = nn.LSTMCell(HIDDEN, HIDDEN)
        self.pi = nn.Linear(HIDDEN, ACTIONS)
        self.v = nn.Linear(HIDDEN, 1)

    def forward(self, obs, state):
        h, c = self.core(self.obs_net(obs), state)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1), (h, c)


class RecallEnv:
    """The cue shown at first has to be named at each later step."""

    def __init__(self):
        self.t = 0
        self.cue = torch.zeros(N_ENVS, dtype=torch.long)

    def observe(self):
        obs = torch.zeros(N_ENVS, OBS)
        if self.t == 0:
            self.cue = torch.randint(0, ACTIONS, (N_ENVS,))
            obs[torch.arange(N_ENVS), self.cue] = 1.0
        obs[:, -1] = self.t / 4
        return obs

    def step(self, action):
        reward = (action == self.cue).float()
        self.t = (self.t + 1) % 5
        return reward


class Experience:
    def __init__(self, capacity):
        self.capacity = capacity
        self.rows = []

    def store(self, **row):
        self.rows.append(row)
        if len(self.rows) > self.capacity:
            self.rows.pop(0)

    def latest(self, n):
        return self.rows[-n:]


def rollout(agent, env, state, experience, horizon):
    for _ in range(horizon):
        obs = env.observe()
        dist, value, new_state = agent(obs, state)
        action = dist.sample()
        reward = env.step(action)
        experience.store(
            obs=obs,
            action=action,
            reward=reward,
            logprob=dist.log_prob(action).detach(),
            value=value.detach(),
            lstm_h=state[0],
            lstm_c=state[1],
        )
        state = tuple(s.detach() for s in new_state)
    return state


def update(agent, optimizer, rows, gamma=0.5, clip=0.2):
    returns, running = [], rows[-1]["value"]
    for row in reversed(rows):
        running = row["reward"] + gamma * running
        returns.insert(0, running)
    state = (rows[0]["lstm_h"].detach(), rows[0]["lstm_c"].detach())
    pg_loss = v_loss = ent = 0.0
    for row, ret in zip(rows, returns):
        dist, value, state = agent(row["obs"], state)
        adv = ret - row["value"]
        ratio = (dist.log_prob(row["action"]) - row["logprob"]).exp()
        pg_loss = pg_loss - torch.min(ratio * adv, ratio.clamp(1 - clip, 1 + clip) * adv).mean()
        v_loss = v_loss + (value - ret).pow(2).mean()
        ent = ent + dist.entropy().mean()
    loss = (pg_loss + 0.5 * v_loss - 0.01 * ent) / len(rows)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
    optimizer.step()
    return loss.item()


torch.manual_seed(2)
agent, env, experience = RecurrentAgent(), RecallEnv(), Experience(capacity=1000)
optimizer = torch.optim.Adam(agent.parameters(), lr=3e-3)
state = (torch.zeros(N_ENVS, HIDDEN), torch.zeros(N_ENVS, HIDDEN))
for epoch in range(1, 81):
    state = rollout(agent, env, state, experience, horizon=10)
    rows = experience.latest(10)
    for _ in range(2):
        loss = update(agent, optimizer, rows)
    if epoch % 20 == 0:
        rew = torch.stack([r["reward"] for r in experience.latest(100)]).mean().item()
        print(f"epoch {epoch}: reward {rew:.3f}  loss {loss:.4f}")
