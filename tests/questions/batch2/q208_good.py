import torch
import torch.nn as nn


class SpikeFn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, mem):
        ctx.save_for_backward(mem)
        return (mem > 0).float()

    @staticmethod
    def backward(ctx, grad):
        (mem,) = ctx.saved_tensors
        return grad / (1 + 10 * mem.abs()) ** 2


class Leaky(nn.Module):
    """A leaky integrate-and-fire neuron that keeps its own membrane potential."""

    def __init__(self, beta=0.9, threshold=1.0):
        super().__init__()
        self.beta, self.threshold, self.mem = beta, threshold, None

    def reset(self):
        self.mem = None

    def forward(self, current):
        if self.mem is None:
            self.mem = torch.zeros_like(current)
        self.mem = self.beta * self.mem + current
        spike = SpikeFn.apply(self.mem - self.threshold)
        self.mem = self.mem - spike.detach() * self.threshold
        return spike


def reset(net):
    for module in net.modules():
        if isinstance(module, Leaky):
            module.reset()


net = nn.Sequential(
    nn.Conv2d(1, 4, 3),
    nn.MaxPool2d(2),
    Leaky(),
    nn.Flatten(),
    nn.Linear(4 * 3 * 3, 3),
    Leaky(),
)


def forward_pass(net, data, num_steps):
    outputs = []
    reset(net)
    for _ in range(num_steps):
        outputs.append(net(data))
    return torch.stack(outputs)


torch.manual_seed(0)
for layer in net:
    if hasattr(layer, "reset_parameters"):
        layer.reset_parameters()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
loss_fn = nn.CrossEntropyLoss()
patterns = torch.rand(3, 1, 8, 8) * 2

for epoch in range(4):
    for i in range(15):
        targets = torch.randint(0, 3, (32,))
        data = patterns[targets] + 0.2 * torch.randn(32, 1, 8, 8)
        spk_rec = forward_pass(net, data, num_steps=10)
        loss = loss_fn(spk_rec.sum(0), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    acc = (spk_rec.sum(0).argmax(1) == targets).float().mean()
    print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.3f}")
