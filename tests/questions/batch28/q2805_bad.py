import random
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
random.seed(0)
torch.set_num_threads(1)
WIDTH, BATCH, GAMMA = 6, 64, 0.9


class StackEnv:
    def reset(self):
        self.heights = [0] * WIDTH
        self.t = 0
        return self.state()

    def state(self):
        return torch.tensor([[h / 8 for h in self.heights]], dtype=torch.float32)

    def step(self, col):
        low = min(self.heights)
        reward = 1.0 if self.heights[col] == low else -1.0
        self.heights[col] += 1
        if min(self.heights) > 0:
            self.heights = [h - 1 for h in self.heights]
        self.t += 1
        done = max(self.heights) >= 8 or self.t >= 30
        return (None if done else self.state()), reward, done


class DQN(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(WIDTH, 64)
        self.fc2 = nn.Linear(64, 64)
        self.out = nn.Linear(64, WIDTH)

    def forward(self, x):
        return self.out(F.relu(self.fc2(F.relu(self.fc1(x)))))


model = DQN()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
memory = []


def select_action(state, eps):
    if random.random() < eps:
        return random.randrange(WIDTH)
    with torch.no_grad():
        return model(state).argmax(1).item()


def optimize_model():
    if len(memory) < BATCH:
        return None
    batch = random.sample(memory, BATCH)
    states, actions, next_states, rewards = zip(*batch)
    non_final_mask = torch.tensor([s is not None for s in next_states], dtype=torch.bool)
    non_final_next = torch.cat([s for s in next_states if s is not None])
    state_batch = torch.cat(states)
    action_batch = torch.tensor(actions).unsqueeze(1)
    reward_batch = torch.tensor(rewards)

    state_action_values = model(state_batch).gather(1, action_batch)
    next_state_values = torch.zeros(BATCH)
    with torch.no_grad():
        next_state_values[non_final_mask] = model(non_final_next).max(1)[0]
    expected_state_action_values = next_state_values * GAMMA + reward_batch

    loss = F.smooth_l1_loss(state_action_values, expected_state_action_values)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


env = StackEnv()
window, losses = [], []
for episode in range(120):
    state, done, total = env.reset(), False, 0.0
    eps = max(0.05, 1 - episode / 60)
    while not done:
        action = select_action(state, eps)
        next_state, reward, done = env.step(action)
        memory.append((state, action, next_state, reward))
        if len(memory) > 2000:
            memory.pop(0)
        state = next_state
        total += reward
        loss = optimize_model()
        if loss is not None:
            losses.append(loss)
    window.append(total)
    if episode % 20 == 19:
        print(f"episode {episode + 1}: reward {sum(window[-20:]) / 20:.2f} loss {sum(losses[-100:]) / 100:.4f}")
