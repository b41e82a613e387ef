import torch
import torch.nn as nn

torch.manual_seed(2)
HORIZON, GAMMA, LAMBDA = 8, 0.95, 0.95
BATCH_T, BATCH_B, N_ROOM, CODE = 48, 10, 8, 8
room_code = torch.randn(N_ROOM, CODE)
room_goal = 1.2 * torch.randn(N_ROOM, 2)


class WorldModel(nn.Module):
    def transition(self, state, action):
        return torch.cat([state[..., :2] + 0.4 * action, state[..., 2:]], -1)

    def reward(self, state):
        room = torch.cdist(state[..., 2:], room_code.expand(state.shape[0], -1, -1)).argmin(-1)
        return -(state[..., :2] - room_goal[room]).pow(2).sum(-1, keepdim=True)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 + CODE, 64), nn.ELU(), nn.Linear(64, 64), nn.ELU(), nn.Linear(64, 2))

    def forward(self, s):
        return torch.tanh(self.net(s))


class Value(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 + CODE, 64), nn.ELU(), nn.Linear(64, 64), nn.ELU(), nn.Linear(64, 1))

    def forward(self, s):
        return self.net(s)


def replay():
    pos = torch.randn(BATCH_B, 2)
    rows = []
    for t in range(BATCH_T):
        room = room_code[t * N_ROOM // BATCH_T].expand(BATCH_B, CODE)
        rows.append(torch.cat([pos, room], 1))
        pos = 0.9 * pos + 0.4 * torch.randn(BATCH_B, 2)
    return torch.stack(rows)


def lambda_return(reward, value, discount, bootstrap):
    next_values = torch.cat([value[1:], bootstrap[None]], 0)
    target = reward + discount * next_values * (1 - LAMBDA)
    outputs, acc = [], bootstrap
    for t in reversed(range(reward.shape[0])):
        acc = target[t] + discount[t] * LAMBDA * acc
        outputs.append(acc)
    return torch.stack(outputs[::-1])


def imagine(actor, start):
    states, state = [], start
    for _ in range(HORIZON):
        state = world.transition(state, actor(state))
        states.append(state)
    return torch.stack(states)


world, actor, critic = WorldModel(), Actor(), Value()
actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)
value_opt = torch.optim.Adam(critic.parameters(), lr=1e-3)

for it in range(400):
    start = replay().reshape(BATCH_T * BATCH_B, 2 + CODE)
    feat = imagine(actor, start)
    reward = world.reward(feat)
    critic.requires_grad_(False)
    value = critic(feat)
    critic.requires_grad_(True)
    discount_arr = GAMMA * torch.ones_like(reward)
    returns = lambda_return(reward[:-1], value[:-1], discount_arr[:-1], value[-1])
    discount = torch.cumprod(discount_arr[:-1], 0)
    actor_loss = -(discount * returns).mean()
    actor_opt.zero_grad()
    actor_loss.backward()
    nn.utils.clip_grad_norm_(actor.parameters(), 100.0)
    actor_opt.step()

    value_loss = (discount * (critic(feat[:-1].detach()) - returns.detach()).pow(2)).mean()
    value_opt.zero_grad()
    value_loss.backward()
    nn.utils.clip_grad_norm_(critic.parameters(), 100.0)
    value_opt.step()
    if it % 100 == 99:
        print(f"iteration {it + 1}  actor loss {actor_loss.item():.3f}  value loss {value_loss.item():.4f}")

with torch.no_grad():
    grid = replay()
    reward = world.reward(imagine(actor, grid.reshape(-1, 2 + CODE))).mean(0).reshape(BATCH_T, BATCH_B)
    err = (critic(feat[:-1]) - returns).pow(2).mean()
third = BATCH_T // 3
print(f"reward from early starts {reward[:third].mean():.3f}  middle {reward[third:2 * third].mean():.3f}  "
      f"late {reward[2 * third:].mean():.3f}")
print(f"mean reward {reward.mean():.3f}  value error {err:.3f}")
