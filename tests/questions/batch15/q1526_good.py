import copy
import random

import torch
import torch.nn as nn

NUM_BITS = 7
GAMMA = 0.9


class Env:
    def reset(self):
        self.state = torch.randint(2, (NUM_BITS,)).float()
        self.target = torch.randint(2, (NUM_BITS,)).float()
        return self.state.clone(), self.target.clone()

    def step(self, action):
        self.state[action] = 1 - self.state[action]
        done = bool((self.state == self.target).all())
        return self.state.clone(), 0.0 if done else -1.0, done


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * NUM_BITS, 128), nn.ReLU(), nn.Linear(128, NUM_BITS))

    def forward(self, state, goal):
        return self.net(torch.cat([state, goal], -1))


def update_target(current, target):
    target.load_state_dict(current.state_dict())


def play(env, model, epsilon):
    state, goal = env.reset()
    episode = []
    for _ in range(NUM_BITS):
        if random.random() < epsilon:
            action = random.randrange(NUM_BITS)
        else:
            with torch.no_grad():
                action = model(state, goal).argmax().item()
        next_state, reward, done = env.step(action)
        episode.append((state, action, reward, next_state, float(done), goal))
        if done:
            break
        state = next_state
    return episode, done


def relabel(episode):
    goal = episode[-1][3]
    hindsight = []
    for state, action, _, next_state, _, _ in episode:
        done = bool((next_state == goal).all())
        hindsight.append((state, action, 0.0 if done else -1.0, next_state, float(done), goal))
    return hindsight


def compute_td_error(model, target_model, optimizer, batch):
    state, action, reward, next_state, done, goal = zip(*batch)
    state, next_state, goal = torch.stack(state), torch.stack(next_state), torch.stack(goal)
    reward, done = torch.tensor(reward), torch.tensor(done)
    q_value = model(state, goal).gather(1, torch.tensor(action)[:, None]).squeeze(1)
    with torch.no_grad():
        expected = reward + GAMMA * target_model(next_state, goal).max(1)[0] * (1 - done)
    loss = (q_value - expected).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def values_at(model, distance):
    state = torch.randint(2, (200, NUM_BITS)).float()
    goal = state.clone()
    goal[:, :distance] = 1 - goal[:, :distance]
    with torch.no_grad():
        return model(state, goal).max(1)[0].mean().item()


def main():
    torch.manual_seed(0)
    random.seed(0)
    env, model = Env(), Model()
    target_model = copy.deepcopy(model)
    update_target(model, target_model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    replay_buffer = []
    for epoch in range(8):
        for _ in range(40):
            episode, _ = play(env, model, epsilon=0.2)
            replay_buffer += episode + relabel(episode)
        losses = [
            compute_td_error(model, target_model, optimizer, random.sample(replay_buffer, 128))
            for _ in range(100)
        ]
        update_target(model, target_model)
        rate = sum(play(env, model, epsilon=0.0)[1] for _ in range(100)) / 100
        far = ", ".join(f"{values_at(model, distance):.2f}" for distance in (1, 2, 4))
        print(
            f"epoch {epoch}: loss {sum(losses) / len(losses):.4f}  success {rate:.2f}  value at 1, 2, 4 bits: {far}"
        )


if __name__ == "__main__":
    main()
