import torch
from torch import nn


class Surrogate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x >= 0).float()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output / (1 + (torch.pi * x).pow(2))


class LIFNode(nn.Module):
    def __init__(self, tau=8.0, v_threshold=1.0):
        super().__init__()
        self.tau, self.v_threshold, self.v = tau, v_threshold, 0.0

    def forward(self, x):
        self.v = self.v + (x - self.v) / self.tau
        spike = Surrogate.apply(self.v - self.v_threshold)
        self.v = self.v - spike.detach() * self.v_threshold
        return spike

    def reset(self):
        self.v = 0.0

    def detach(self):
        self.v = self.v.detach() if isinstance(self.v, torch.Tensor) else self.v


class SNN(nn.Module):
    def __init__(self, inputs, hidden, classes):
        super().__init__()
        self.fc1, self.lif1 = nn.Linear(inputs, hidden), LIFNode()
        self.fc2, self.lif2 = nn.Linear(hidden, classes), LIFNode()

    def forward(self, x, time_steps=6):
        out = 0.0
        for _ in range(time_steps):
            out = out + self.lif2(4 * self.fc2(self.lif1(4 * self.fc1(x))))
        return out / time_steps


def reset_net(net):
    for module in net.modules():
        if isinstance(module, LIFNode):
            module.reset()


def detach_net(net):
    for module in net.modules():
        if isinstance(module, LIFNode):
            module.detach()


def make_data(count, seed):
    generator = torch.Generator().manual_seed(seed)
    centers = torch.rand(6, 20, generator=torch.Generator().manual_seed(0))
    labels = torch.randint(6, (count,), generator=generator)
    return (centers[labels] + 0.25 * torch.randn(count, 20, generator=generator)).clamp(min=0), labels


def main():
    torch.manual_seed(0)
    x, y = make_data(1280, seed=1)
    test_x, test_y = make_data(640, seed=2)
    net = SNN(20, 64, 6)
    optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)
    for epoch in range(8):
        total, right = 0.0, 0
        for rows in torch.randperm(len(x)).split(32):
            fire_rate = net(x[rows])
            loss = nn.functional.mse_loss(fire_rate, nn.functional.one_hot(y[rows], 6).float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            reset_net(net)
            total += loss.item() / 40
            right += (fire_rate.argmax(1) == y[rows]).sum().item()
        test_right = 0
        with torch.no_grad():
            for rows in torch.arange(len(test_x)).split(32):
                test_right += (net(test_x[rows]).argmax(1) == test_y[rows]).sum().item()
                reset_net(net)
        print(
            f"epoch {epoch}: loss {total:.4f}  train {right / len(x):.3f}  test {test_right / len(test_x):.3f}"
        )


if __name__ == "__main__":
    main()
