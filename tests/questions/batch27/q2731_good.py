import io
from collections import defaultdict
import torch
import torch.nn as nn
from torch.optim import Optimizer

torch.set_num_threads(1)


class Lookahead(Optimizer):
    def __init__(self, optimizer, k=5, alpha=0.5):
        self.optimizer = optimizer
        self.k = k
        self.alpha = alpha
        self.defaults = self.optimizer.defaults
        self.state = defaultdict(dict)
        for group in self.param_groups:
            group.setdefault('counter', 0)

    @property
    def param_groups(self):
        return self.optimizer.param_groups

    def zero_grad(self, set_to_none=True):
        self.optimizer.zero_grad(set_to_none)

    def state_dict(self):
        slow = [self.state[p].get('slow') for g in self.optimizer.param_groups for p in g['params']]
        return {'slow': slow, 'fast_state': self.optimizer.state_dict()}

    def load_state_dict(self, state):
        self.optimizer.load_state_dict(state['fast_state'])
        params = [p for g in self.optimizer.param_groups for p in g['params']]
        for p, slow in zip(params, state['slow']):
            if slow is not None:
                self.state[p]['slow'] = slow

    @torch.no_grad()
    def update(self, group):
        for p in group['params']:
            state = self.state[p]
            if 'slow' not in state:
                state['slow'] = p.detach().clone()
            state['slow'].add_(p - state['slow'], alpha=self.alpha)
            p.copy_(state['slow'])

    def step(self, closure=None):
        loss = self.optimizer.step(closure)
        for group in self.optimizer.param_groups:
            group['counter'] += 1
            if group['counter'] % self.k == 0:
                self.update(group)
        return loss


torch.manual_seed(0)
x = torch.randn(600, 12)
y = torch.sin(x @ torch.randn(12, 1)) + 0.3 * torch.randn(600, 1)


def build():
    model = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 1))
    optimizer = Lookahead(torch.optim.SGD(model.parameters(), lr=0.15, momentum=0.9))
    return model, optimizer


def run(model, optimizer, scheduler, epochs):
    for epoch in epochs:
        total = 0.0
        for idx in torch.randperm(600).split(20):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f'epoch {epoch} lr {scheduler.get_last_lr()[0]:.5f} loss {total / 30:.4f}')
        scheduler.step()


model, optimizer = build()
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.6)
run(model, optimizer, scheduler, range(1, 4))
buffer = io.BytesIO()
torch.save({'model': model.state_dict(), 'optimizer': optimizer.state_dict(), 'scheduler': scheduler.state_dict()}, buffer)

print('--- resume ---')
buffer.seek(0)
ckpt = torch.load(buffer)
model, optimizer = build()
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.6)
model.load_state_dict(ckpt['model'])
optimizer.load_state_dict(ckpt['optimizer'])
scheduler.load_state_dict(ckpt['scheduler'])
run(model, optimizer, scheduler, range(4, 13))
