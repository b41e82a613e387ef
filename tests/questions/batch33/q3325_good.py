import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Learner(nn.Module):
    def __init__(self):
        super().__init__()
        self.vars = nn.ParameterList([
            nn.Parameter(torch.randn(32, 1) * 0.5), nn.Parameter(torch.zeros(32)),
            nn.Parameter(torch.randn(1, 32) * 0.2), nn.Parameter(torch.zeros(1)),
        ])

    def forward(self, x, vars=None):
        w1, b1, w2, b2 = self.vars if vars is None else vars
        return F.linear(torch.tanh(F.linear(x, w1, b1)), w2, b2)

    def parameters(self):
        return self.vars


class Meta(nn.Module):
    def __init__(self, update_lr, meta_lr, update_step):
        super().__init__()
        self.update_lr, self.update_step = update_lr, update_step
        self.net = Learner()
        self.meta_optim = torch.optim.Adam(self.net.parameters(), lr=meta_lr)

    def adapt(self, loss, weights):
        grad = torch.autograd.grad(loss, weights, create_graph=True)
        return [w - self.update_lr * g for g, w in zip(grad, weights)]

    def forward(self, x_spt, y_spt, x_qry, y_qry):
        task_num = x_spt.size(0)
        losses_q = [0 for _ in range(self.update_step + 1)]
        for i in range(task_num):
            loss = F.mse_loss(self.net(x_spt[i], vars=None), y_spt[i])
            fast_weights = self.adapt(loss, list(self.net.parameters()))
            with torch.no_grad():
                losses_q[0] += F.mse_loss(self.net(x_qry[i]), y_qry[i])
            losses_q[1] += F.mse_loss(self.net(x_qry[i], fast_weights), y_qry[i])
            for k in range(1, self.update_step):
                loss = F.mse_loss(self.net(x_spt[i], fast_weights), y_spt[i])
                fast_weights = self.adapt(loss, fast_weights)
                losses_q[k + 1] += F.mse_loss(self.net(x_qry[i], fast_weights), y_qry[i])
        loss_q = losses_q[-1] / task_num
        self.meta_optim.zero_grad()
        loss_q.backward()
        self.meta_optim.step()
        return [v.item() / task_num for v in losses_q]


def tasks(n, k):
    amp, phase = torch.rand(n, 1, 1) * 2 + 0.5, torch.rand(n, 1, 1) * 3
    x = torch.rand(n, 2 * k, 1) * 6 - 3
    y = amp * torch.sin(x + phase)
    return x[:, :k], y[:, :k], x[:, k:], y[:, k:]


def main():
    maml = Meta(update_lr=0.05, meta_lr=5e-3, update_step=1)
    for step in range(100):
        losses = maml(*tasks(8, 10))
        if step % 25 == 0:
            print(step, [round(v, 3) for v in losses])
    print("last", [round(v, 3) for v in losses])


main()
