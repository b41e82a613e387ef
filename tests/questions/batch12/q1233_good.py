import torch
import torch.nn as nn

N_STATE, N_ACTION = 4, 2


class Cart:
    """A cart on a line that is pushed to the left or to the right and has to stay near the middle."""

    def __init__(self, generator):
        self.generator = generator

    def reset(self):
        self.state = 0.6 * torch.rand(2, generator=self.generator) - 0.3
        self.wind = 0.4 * torch.rand(1, generator=self.generator) - 0.2
        self.steps = 0
        return self.observe()

    def observe(self):
        return torch.cat([self.state, self.wind, torch.ones(1)])

    def step(self, action):
        force = 0.5 if action == 1 else -0.5
        place, speed = self.state
        speed = 0.95 * speed + 0.2 * (force + float(self.wind))
        self.state = torch.stack([place + 0.2 * speed, speed])
        self.steps += 1
        done = abs(float(self.state[0])) > 1 or self.steps >= 60
        return self.observe(), done


def discount_rewards(length, gamma=0.97):
    rewards = torch.ones(length)
    returns, running = torch.zeros(length), 0.0
    for t in reversed(range(length)):
        running = rewards[t] + gamma * running
        returns[t] = running
    return (returns - returns.mean()) / (returns.std() + 1e-6)


def loss_fn(preds, r):
    return -(r * torch.log(preds + 1e-8)).mean()


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    env = Cart(generator)
    model = nn.Sequential(nn.Linear(N_STATE, 50), nn.LeakyReLU(), nn.Linear(50, N_ACTION), nn.Softmax(dim=-1))
    optimizer = torch.optim.Adam(model.parameters(), lr=9e-3)
    durations = []
    for episode in range(301):
        state, done, transitions = env.reset(), False, []
        while not done:
            with torch.no_grad():
                prob = model(state)
            action = int(torch.multinomial(prob, 1, generator=generator))
            transitions.append((state, action))
            state, done = env.step(action)
        durations.append(len(transitions))
        state_batch = torch.stack([s for s, _ in transitions])
        action_batch = torch.tensor([a for _, a in transitions])
        pred_batch = model(state_batch)
        prob_batch = pred_batch.gather(1, action_batch[:, None]).squeeze(1)
        loss = loss_fn(prob_batch, discount_rewards(len(transitions)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if episode % 50 == 0:
            recent = durations[-50:]
            print(f"episode {episode}: loss {loss.item():.4f}  average duration {sum(recent) / len(recent):.1f}")


if __name__ == "__main__":
    main()
