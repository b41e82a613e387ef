import torch
from torch import nn

torch.manual_seed(0)


class GaborGenerator(nn.Module):
    def __init__(self, size=16):
        super().__init__()
        self.theta = nn.Parameter(torch.tensor(0.3))
        self.sigma = nn.Parameter(torch.tensor(1.5))
        self.frequency = nn.Parameter(torch.tensor(0.6))
        self.center = nn.Parameter(torch.zeros(2))
        ys, xs = torch.meshgrid(torch.linspace(-4, 4, size), torch.linspace(-4, 4, size), indexing="ij")
        self.register_buffer("grid", torch.stack([ys, xs]))

    def forward(self):
        y = self.grid[0] - self.center[0]
        x = self.grid[1] - self.center[1]
        along = x * torch.cos(self.theta) + y * torch.sin(self.theta)
        envelope = torch.exp(-(x**2 + y**2) / (2 * self.sigma**2 + 1e-3))
        return envelope * torch.cos(2 * self.frequency * along)


class Neuron(nn.Module):
    def __init__(self):
        super().__init__()
        target = GaborGenerator()
        with torch.no_grad():
            target.theta.fill_(0.8)
            target.frequency.fill_(0.9)
            target.center.copy_(torch.tensor([0.7, -0.5]))
            filt = target()
        self.register_buffer("filter", filt / filt.norm())

    def forward(self, image):
        return (self.filter * image).sum()


def trainer_fn(generator, neuron, epochs=15, fixed_std=0.1):
    optimizer = torch.optim.LBFGS(generator.parameters(), lr=0.1)
    for epoch in range(1, epochs + 1):
        optimizer.zero_grad()
        gabor = generator()
        gabor_std_constrained = fixed_std * gabor / gabor.std()
        loss = -neuron(gabor_std_constrained)
        loss.backward()

        def closure():
            return loss

        optimizer.step(closure)
        if epoch % 3 == 0:
            print(f"epoch {epoch}: activation {-loss.item():.4f}")


trainer_fn(GaborGenerator(), Neuron())
