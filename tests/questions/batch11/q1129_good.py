import torch
import torch.nn as nn


class NetworkBody(nn.Module):
    def __init__(self, obs=4, hidden=16):
        super().__init__()
        self.enc = nn.Linear(obs, hidden)
        self.lstm = nn.LSTM(hidden, hidden, batch_first=True)

    def forward(self, obs, memory):
        out, memory = self.lstm(torch.relu(self.enc(obs)), memory)
        return out, memory


class SimpleActor(nn.Module):
    def __init__(self, n_actions=2):
        super().__init__()
        self.network_body = NetworkBody()
        self.action_head = nn.Linear(16, n_actions)

    def forward(self, obs, memory):
        out, memory = self.network_body(obs, memory)
        return torch.distributions.Categorical(logits=self.action_head(out)), memory


class TorchPolicy:
    def __init__(self, actor):
        self.actor = actor
        self.memory_dict = {}

    def retrieve_memories(self, agent_id):
        zeros = torch.zeros(1, 1, 16)
        return self.memory_dict.get(agent_id, (zeros, zeros.clone()))

    def save_memories(self, agent_id, memories):
        self.memory_dict[agent_id] = tuple(m.detach() for m in memories)

    def get_action(self, agent_id, obs):
        memories = self.retrieve_memories(agent_id)
        dist, memories = self.actor(obs.view(1, 1, -1), memories)
        action = dist.sample()
        self.save_memories(agent_id, memories)
        return action.item()

    def snapshot(self, agent_id):
        return tuple(m.detach() for m in self.retrieve_memories(agent_id))


class HallwayEnv:
    """Signal at the start of each corridor tells the way to go from then on."""

    def reset(self):
        self.t = 0
        return self.obs()

    def obs(self):
        o = torch.zeros(4)
        if self.t % 10 == 0:
            self.goal = int(torch.randint(0, 2, (1,)))
        if self.t % 10 < 6:
            o[self.goal] = 1.0
        o[2] = (self.t % 10) / 10
        return o

    def step(self, action):
        reward = 1.0 if action == self.goal else 0.0
        self.t += 1
        return self.obs(), reward, self.t >= 150


def update(actor, optimizer, traj, seq_len=10):
    obs = torch.stack([t[0] for t in traj]).view(-1, seq_len, 4)
    act = torch.tensor([t[1] for t in traj]).view(-1, seq_len)
    rew = torch.tensor([t[2] for t in traj]).view(-1, seq_len)
    starts = [t[3] for t in traj[::seq_len]]
    dist, _ = actor(obs, tuple(torch.cat(m, dim=1) for m in zip(*starts)))
    loss = -(dist.log_prob(act) * (rew - rew.mean())).mean() - 0.02 * dist.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


torch.manual_seed(40)
actor = SimpleActor()
policy = TorchPolicy(actor)
optimizer = torch.optim.Adam(actor.parameters(), lr=2e-2)
env = HallwayEnv()
for episode in range(1, 41):
    obs, done, traj = env.reset(), False, []
    while not done:
        memory = policy.snapshot("agent-0")
        action = policy.get_action("agent-0", obs)
        nxt, reward, done = env.step(action)
        traj.append((obs, action, reward, memory))
        obs = nxt
    policy.memory_dict.clear()
    loss = update(actor, optimizer, traj)
    if episode % 8 == 0:
        print(f"episode {episode}: mean reward {sum(t[2] for t in traj) / len(traj):.3f}  loss {loss:.4f}")
