import torch
import torch.nn as nn
from torch.optim import lr_scheduler

torch.manual_seed(2)


class GoTurnHead(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(2 * dim, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, prev, curr):
        return self.fc(torch.cat([prev, curr], dim=1))


class FramePairs(torch.utils.data.Dataset):
    def __init__(self, n=400, dim=32):
        self.prev = torch.randn(n, dim)
        self.curr = torch.randn(n, dim)
        w = torch.randn(2 * dim, 4) / 6
        self.box = torch.tanh(torch.cat([self.prev, self.curr], 1) @ w)

    def __len__(self):
        return len(self.prev)

    def __getitem__(self, i):
        return self.prev[i], self.curr[i], self.box[i]


def jitter(prev, curr, box, k=2):
    rep = lambda t: t.repeat(k, 1) + 0.02 * torch.randn(k, t.shape[-1])
    return rep(prev), rep(curr), box.repeat(k, 1)


batch_size, lr_decay_step, max_iter = 16, 60, 240
loader = torch.utils.data.DataLoader(FramePairs(), batch_size=1, shuffle=True)
model = GoTurnHead()
loss_fn = nn.L1Loss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
exp_lr_scheduler = lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)

itr = 0
pending = []
while itr < max_iter:
    for prev, curr, box in loader:
        pending.append(jitter(prev, curr, box))
        done = sum(len(p[0]) for p in pending) >= batch_size
        if done:
            x1, x2, y = (torch.cat(t) for t in zip(*pending))
            pending = []
            optimizer.zero_grad()
            loss = loss_fn(model(x1, x2), y)
            loss.backward()
            optimizer.step()
            itr += 1
            if itr % 30 == 0:
                lr = optimizer.param_groups[0]["lr"]
                print(f"[{itr}/{max_iter}] lr {lr:.3e}  loss {loss.item():.4f}")
        if itr > 0 and itr % lr_decay_step == 0:
            exp_lr_scheduler.step()
        if itr >= max_iter:
            break
