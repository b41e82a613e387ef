import torch
import torch.nn as nn
import torch.nn.functional as F

GAMMA = 0.95


class ReplayBuffer:
    def __init__(self, transitions, scale=0.1, bias=0.0):
        self.state, self.action, self.next_state, self.reward, self.not_done = transitions
        self.scale, self.bias = scale, bias

    def sample(self, n, generator):
        ind = torch.randint(0, len(self.state), (n,), generator=generator)
        transition = [
            self.state[ind],
            self.action[ind],
            self.next_state[ind],
            self.reward[ind],
            self.not_done[ind],
        ]
        transition[3] = transition[3] * self.scale + self.bias
        return transition


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, state, action):
        return self.net(torch.cat([state, action], 1)).squeeze(1)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 1), nn.Tanh())

    def forward(self, state):
        return self.net(state)


def move(state, action):
    """A cart with place and speed; it is pushed and should stay at 0."""
    place, speed = state[:, :1], state[:, 1:]
    speed = 0.9 * speed + 0.5 * action
    place = place + 0.3 * speed
    return torch.cat([place, speed], 1), -10 * place.squeeze(1).abs().clamp(max=3)


def record(n, generator):
    state = torch.randn(n, 2, generator=generator)
    state[:, 0] *= 2
    action = torch.rand(n, 1, generator=generator) * 2 - 1
    next_state, reward = move(state, action)
    return state, action, next_state, reward, torch.ones(n)


@torch.no_grad()
def play(actor):
    state = torch.randn(200, 2, generator=torch.Generator().manual_seed(5))
    state[:, 0] *= 2
    total = 0.0
    for _ in range(40):
        state, reward = move(state, actor(state))
        total += reward.mean().item()
    return total


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    buffer = ReplayBuffer(record(5000, generator))
    actor, critic, target = Actor(), Critic(), Critic()
    target.load_state_dict(critic.state_dict())
    actor_optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
    critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
    for step in range(601):
        state, action, next_state, reward, not_done = buffer.sample(128, generator)
        with torch.no_grad():
            wanted = reward + GAMMA * not_done * target(next_state, actor(next_state))
        critic_loss = F.mse_loss(critic(state, action), wanted)
        critic_optimizer.zero_grad()
        critic_loss.backward()
        critic_optimizer.step()
        actor_loss = -critic(state, actor(state)).mean()
        actor_optimizer.zero_grad()
        actor_loss.backward()
        actor_optimizer.step()
        with torch.no_grad():
            for p, q in zip(target.parameters(), critic.parameters()):
                p.lerp_(q, 0.05)
        if step % 120 == 0:
            print(f"step {step}: critic loss {critic_loss.item():.3f}  return {play(actor):.1f}")


if __name__ == "__main__":
    main()
