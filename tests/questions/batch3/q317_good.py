import torch
from torch import nn

torch.manual_seed(17)


def deform_with_weights(cage, template_points, weight_net):
    weights = weight_net(template_points)
    return weights @ cage, weights


class NetworkFull(nn.Module):
    def __init__(self, n_cage=8):
        super().__init__()
        self.n_cage = n_cage
        self.encoder = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32))
        self.decoder = nn.Linear(64, n_cage * 2)
        self.weight_net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, n_cage))

    def forward(self, source, target):
        code = torch.cat([self.encoder(source).amax(1), self.encoder(target).amax(1)], dim=1)
        cage = self.decoder(code).view(-1, self.n_cage, 2)
        deformed, weights = deform_with_weights(cage, source, self.weight_net)
        return {"deformed": deformed, "cage": cage, "weight": weights}


class AllLosses:
    def __init__(self, mvc_weight):
        self.mvc_weight = mvc_weight
        self.loss = {}

    def mvc_reg_loss(self, weights):
        return (weights.sum(-1) - 1).pow(2).mean() + torch.relu(-weights).mean()

    def __call__(self, outputs, target):
        self.loss["MSE"] = (outputs["deformed"] - target).pow(2).mean()
        self.loss["WREG"] = self.mvc_reg_loss(outputs["weight"]) * self.mvc_weight
        return sum(self.loss.values())


def make_shapes(batch=16, points=40):
    angles = torch.linspace(0, 6.28, points)
    circle = torch.stack([angles.cos(), angles.sin()], dim=1)
    scale = 0.5 + torch.rand(batch, 1, 2)
    return circle.expand(batch, -1, -1), circle * scale


net = NetworkFull()
criterion = AllLosses(mvc_weight=0.5)
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(300):
    source, target = make_shapes()
    outputs = net(source, target)
    loss = criterion(outputs, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, " ".join(f"{k} {v.item():.5f}" for k, v in criterion.loss.items()))
