import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
N_ENVS, N_STEPS, CHUNK, N_LAYERS, HID, OBS, N_CUES = 64, 24, 6, 2, 32, 6, 4


class RecurrentPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(OBS, HID, num_layers=N_LAYERS)
        self.action_net = nn.Linear(HID, N_CUES)

    def initial_state(self, n):
        return torch.zeros(N_LAYERS, n, HID), torch.zeros(N_LAYERS, n, HID)

    def forward(self, obs, state):
        out, state = self.lstm(obs, state)
        return self.action_net(out), state


class RolloutBuffer:
    def __init__(self):
        self.obs = np.zeros((N_STEPS, N_ENVS, OBS), np.float32)
        self.target = np.zeros((N_STEPS, N_ENVS), np.int64)
        self.hidden = np.zeros((N_STEPS, N_ENVS, N_LAYERS, HID), np.float32)
        self.cell = np.zeros((N_STEPS, N_ENVS, N_LAYERS, HID), np.float32)

    def add(self, t, obs, target, state):
        self.obs[t], self.target[t] = obs.numpy(), target.numpy()
        self.hidden[t] = state[0].permute(1, 0, 2).numpy()
        self.cell[t] = state[1].permute(1, 0, 2).numpy()

    def get(self, n_seq):
        starts = np.arange(0, N_STEPS, CHUNK)
        pairs = [(s, e) for s in starts for e in range(N_ENVS)]
        order = np.random.permutation(len(pairs))
        for i in range(0, len(order), n_seq):
            sel = [pairs[k] for k in order[i:i + n_seq]]
            t0 = np.array([s for s, _ in sel])
            env = np.array([e for _, e in sel])
            obs = np.stack([self.obs[t0 + k, env] for k in range(CHUNK)])
            target = np.stack([self.target[t0 + k, env] for k in range(CHUNK)])
            n = len(sel)
            h = torch.as_tensor(self.hidden[t0, env]).reshape(N_LAYERS, n, HID)
            c = torch.as_tensor(self.cell[t0, env]).reshape(N_LAYERS, n, HID)
            yield torch.as_tensor(obs), torch.as_tensor(target), (h.contiguous(), c.contiguous())


def observe(t, cue):
    obs = torch.zeros(len(cue), OBS)
    if t == 0:
        obs[torch.arange(len(cue)), cue] = 1.0
    obs[:, N_CUES] = float(t == 0)
    obs[:, N_CUES + 1] = 0.3 * torch.randn(len(cue))
    return obs


np.random.seed(0)
policy = RecurrentPolicy()
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
loss_fn = nn.CrossEntropyLoss()
buffer = RolloutBuffer()

for it in range(60):
    cue = torch.randint(0, N_CUES, (N_ENVS,))
    state = policy.initial_state(N_ENVS)
    correct = torch.zeros(N_STEPS)
    for t in range(N_STEPS):
        obs = observe(t, cue)
        buffer.add(t, obs, cue, state)
        with torch.no_grad():
            logits, state = policy(obs[None], state)
        correct[t] = (logits[0].argmax(1) == cue).float().mean()

    losses = []
    for obs, target, lstm_state in buffer.get(n_seq=32):
        logits, _ = policy(obs, lstm_state)
        loss = loss_fn(logits.reshape(-1, N_CUES), target.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
        optimizer.step()
        losses.append(loss.item())
    if it % 10 == 9:
        print(f"iteration {it + 1}  loss {np.mean(losses):.3f}  reward first steps {correct[:CHUNK].mean():.2f}  "
              f"last steps {correct[-CHUNK:].mean():.2f}")

print(f"final loss {np.mean(losses):.4f}  mean reward {correct.mean():.3f}")
