import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(27)


class QuantGrad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, scale, qmin, qmax):
        ctx.save_for_backward(tensor)
        ctx.scale, ctx.qmin, ctx.qmax = scale, qmin, qmax
        return torch.clamp(torch.round(tensor / scale), qmin, qmax) * scale

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None, None, None


class QuantizerWrapper(nn.Module):
    def __init__(self, module, scale=0.1, bits=4):
        super().__init__()
        self.module = module
        self.scale, self.qmin, self.qmax = scale, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1

    def forward(self, x):
        weight = QuantGrad.apply(self.module.weight, self.scale, self.qmin, self.qmax)
        return F.linear(x, weight, self.module.bias)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = QuantizerWrapper(nn.Linear(10, 32))
        self.fc2 = QuantizerWrapper(nn.Linear(32, 1))

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x))).squeeze(-1)


true_weight = torch.randn(10)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
for step in range(600):
    x = torch.randn(64, 10)
    y = 6 * torch.tanh(x @ true_weight) + 3 * x[:, 0]
    loss = F.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0 or step == 599:
        largest = net.fc1.module.weight.abs().max().item(), net.fc2.module.weight.abs().max().item()
        print(f"step {step}: loss {loss.item():.4f} largest weights {largest[0]:.2f} {largest[1]:.2f}")
