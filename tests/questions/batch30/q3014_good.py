import random
from collections import deque

import torch
import torch.nn as nn
from torch.distributions import Bernoulli, Categorical

torch.set_num_threads(1)
random.seed(0)
torch.manual_seed(0)

SIZE, ACTIONS, OPTIONS = 6, 4, 2
GAMMA, TERM_REG, ENT_REG = 0.95, 0.01, 0.01


class Rooms:
    def reset(self):
        self.pos, self.t = [0, 0], 0
        return self.obs()

    def obs(self):
        x = torch.zeros(2 * SIZE)
        x[self.pos[0]] = x[SIZE + self.pos[1]] = 1.0
        return x

    def step(self, a):
        dx, dy = ((1, 0), (-1, 0), (0, 1), (0, -1))[a]
        self.pos[0] = min(max(self.pos[0] + dx, 0), SIZE - 1)
        self.pos[1] = min(max(self.pos[1] + dy, 0), SIZE - 1)
        self.t += 1
        goal = self.pos == [SIZE - 1, SIZE - 1]
        return self.obs(), 1.0 if goal else 0.0, goal or self.t >= 60


class OptionCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(2 * SIZE, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.Q = nn.Linear(32, OPTIONS)
        self.terminations = nn.Linear(32, OPTIONS)
        self.options_W = nn.Parameter(0.1 * torch.randn(OPTIONS, 32, ACTIONS))

    def get_state(self, obs):
        return self.features(obs)

    def get_action(self, state, option):
        dist = Categorical(logits=state @ self.options_W[option])
        action = dist.sample()
        return action.item(), dist.log_prob(action), dist.entropy()

    def predict_option_termination(self, state, option):
        p = self.terminations(state)[option].sigmoid()
        return bool(Bernoulli(p).sample().item()), self.Q(state).argmax().item()


model = OptionCritic()
optim = torch.optim.RMSprop(model.parameters(), lr=5e-4)
buffer = deque(maxlen=2000)
env = Rooms()
steps = 0


def actor_loss_fn(obs, option, logp, entropy, reward, done, next_obs):
    state, next_state = model.get_state(obs), model.get_state(next_obs)
    term = model.terminations(state)[option].sigmoid()
    q = model.Q(state).detach()
    with torch.no_grad():
        nq = model.Q(next_state)
        nt = model.terminations(next_state)[option].sigmoid()
        gt = reward + (1 - done) * GAMMA * ((1 - nt) * nq[option] + nt * nq.max())
    term_loss = term * (q[option] - q.max() + TERM_REG) * (1 - done)
    policy_loss = -logp * (gt - q[option]) - ENT_REG * entropy
    return term_loss + policy_loss


def critic_loss_fn(batch):
    obs = torch.stack([b[0] for b in batch])
    option = torch.tensor([b[1] for b in batch])
    reward = torch.tensor([b[2] for b in batch])
    next_obs = torch.stack([b[3] for b in batch])
    done = torch.tensor([b[4] for b in batch])
    q = model.Q(model.get_state(obs)).gather(1, option[:, None]).squeeze(1)
    with torch.no_grad():
        gt = reward + (1 - done) * GAMMA * model.Q(model.get_state(next_obs)).max(1).values
    return 0.5 * (q - gt).pow(2).mean()


for episode in range(31):
    obs, done, ret = env.reset(), False, 0.0
    state = model.get_state(obs)
    option = model.Q(state).argmax().item()
    while not done:
        action, logp, entropy = model.get_action(state, option)
        next_obs, reward, done = env.step(action)
        buffer.append((obs, option, reward, next_obs, float(done)))
        ret += reward
        if len(buffer) > 32:
            loss = actor_loss_fn(obs, option, logp, entropy, reward, float(done), next_obs)
            if steps % 4 == 0:
                loss = loss + critic_loss_fn(random.sample(buffer, 32))
            optim.zero_grad()
            loss.backward()
            optim.step()
        state = model.get_state(next_obs)
        terminate, greedy = model.predict_option_termination(state, option)
        if terminate:
            option = random.randrange(OPTIONS) if random.random() < 0.1 else greedy
        obs = next_obs
        steps += 1
    if episode % 10 == 0:
        print(f"episode {episode}: return {ret:.1f} length {env.t}" + (f" loss {loss.item():.4f}" if len(buffer) > 32 else ""))
