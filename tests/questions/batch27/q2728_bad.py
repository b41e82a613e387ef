import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)

parser = argparse.ArgumentParser(description='MAML')
parser.add_argument('--first-order', type=bool, default=True, help='use the first-order approximation')
parser.add_argument('--num-inner-updates', type=int, default=3)
parser.add_argument('--inner-lr', type=float, default=0.05)
parser.add_argument('--meta-lr', type=float, default=2e-3)
parser.add_argument('--minibatch', type=int, default=8)
parser.add_argument('--num-episodes', type=int, default=150)
args = parser.parse_args(['--first-order', 'False', '--inner-lr', '0.05', '--minibatch', '8'])
config = vars(args)

torch.manual_seed(0)


class SineNet(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.fc1 = nn.Linear(1, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, 1)

    def functional_forward(self, x, p):
        x = torch.tanh(F.linear(x, p[0], p[1]))
        x = torch.tanh(F.linear(x, p[2], p[3]))
        return F.linear(x, p[4], p[5])


def sample_task(k=10):
    amp, phase = torch.empty(1).uniform_(0.5, 3.0), torch.empty(1).uniform_(0, 3.14)
    x = torch.empty(2 * k, 1).uniform_(-4, 4)
    y = amp * torch.sin(x + phase)
    return x[:k], y[:k], x[k:], y[k:]


def adapt_to_episode(x, y, model, train_flag):
    q_params = [p for p in model.parameters()]
    for _ in range(config['num_inner_updates']):
        loss = F.mse_loss(model.functional_forward(x, q_params), y)
        if config['first_order']:
            all_grads = torch.autograd.grad(loss, q_params, retain_graph=train_flag)
        else:
            all_grads = torch.autograd.grad(loss, q_params, create_graph=train_flag)
        q_params = [p - config['inner_lr'] * g for p, g in zip(q_params, all_grads)]
    return q_params


model = SineNet()
meta_opt = torch.optim.Adam(model.parameters(), lr=config['meta_lr'])

for episode in range(1, config['num_episodes'] + 1):
    meta_opt.zero_grad()
    meta_loss = 0.0
    for _ in range(config['minibatch']):
        x_t, y_t, x_v, y_v = sample_task()
        q_params = adapt_to_episode(x_t, y_t, model, train_flag=True)
        loss_v = F.mse_loss(model.functional_forward(x_v, q_params), y_v) / config['minibatch']
        loss_v.backward()
        meta_loss += loss_v.item()
    meta_opt.step()
    if episode % 30 == 0:
        print(f'episode {episode} meta-train loss {meta_loss:.4f}')

errors = []
for _ in range(50):
    x_t, y_t, x_v, y_v = sample_task()
    q_params = adapt_to_episode(x_t, y_t, model, train_flag=False)
    errors.append(F.mse_loss(model.functional_forward(x_v, q_params), y_v).item())
print('meta-test mse', sum(errors) / len(errors))
