import torch
import torch.nn as nn

torch.manual_seed(0)


class Sigmoid(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input_, slope):
        ctx.save_for_backward(input_)
        ctx.slope = slope
        return (input_ > 0).float()

    @staticmethod
    def backward(ctx, grad_output):
        (input_,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad = (
            grad_input
            * ctx.slope
            * torch.exp(-ctx.slope * input_)
            / ((torch.exp(-ctx.slope * input_) + 1) ** 2)
        )
        return grad, None


def sigmoid(slope=25):
    return lambda x: Sigmoid.apply(x, slope)


class Leaky(nn.Module):
    def __init__(self, beta=0.9, threshold=1.0):
        super().__init__()
        self.beta, self.threshold, self.spike_grad = beta, threshold, sigmoid()

    def forward(self, current, mem):
        mem = self.beta * mem + current
        spk = self.spike_grad(mem - self.threshold)
        return spk, mem - spk.detach() * self.threshold


class SpikingNet(nn.Module):
    def __init__(self, size=20, hidden=40, classes=4, steps=10):
        super().__init__()
        self.fc1, self.lif1 = nn.Linear(size, hidden), Leaky()
        self.fc2, self.lif2 = nn.Linear(hidden, classes), Leaky()
        self.steps = steps

    def forward(self, x):
        mem1 = torch.zeros(len(x), self.fc1.out_features)
        mem2 = torch.zeros(len(x), self.fc2.out_features)
        out = []
        for _ in range(self.steps):
            spk1, mem1 = self.lif1(self.fc1(x), mem1)
            spk2, mem2 = self.lif2(self.fc2(spk1), mem2)
            out.append(mem2)
        return torch.stack(out).mean(0)


def main():
    net = SpikingNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    loss_fn = nn.CrossEntropyLoss()
    centers = 1.5 * torch.randn(4, 20)
    for step in range(80):
        y = torch.randint(0, 4, (32,))
        x = centers[y] + torch.randn(32, 20)
        loss = loss_fn(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0 or step == 79:
            print(step, round(loss.item(), 3))


main()
