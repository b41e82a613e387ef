import torch
from torch import nn


class FaceModel(nn.Module):
    def __init__(self, vertices=40, shapes=6, expressions=5):
        super().__init__()
        self.register_buffer("mean", torch.randn(vertices, 3))
        self.register_buffer("shape_basis", 0.3 * torch.randn(vertices, 3, shapes))
        self.register_buffer("exp_basis", 0.3 * torch.randn(vertices, 3, expressions))

    def rotation(self, angles):
        x, y, z = angles
        zero, one = torch.zeros(()), torch.ones(())
        rx = torch.stack([one, zero, zero, zero, x.cos(), -x.sin(), zero, x.sin(), x.cos()])
        ry = torch.stack([y.cos(), zero, y.sin(), zero, one, zero, -y.sin(), zero, y.cos()])
        rz = torch.stack([z.cos(), -z.sin(), zero, z.sin(), z.cos(), zero, zero, zero, one])
        return rz.view(3, 3) @ ry.view(3, 3) @ rx.view(3, 3)

    def forward(self, shape, expression, angles, shift):
        points = self.mean + self.shape_basis @ shape
        points = points + self.exp_basis @ expression
        points = points @ self.rotation(angles).t()
        return points + shift


class Fitter:
    def __init__(self, model):
        self.model = model
        self.shape = torch.zeros(6, requires_grad=True)
        self.expression = torch.zeros(5, requires_grad=True)
        self.angles = torch.zeros(3, requires_grad=True)
        self.shift = torch.zeros(3, requires_grad=True)
        params = [self.shape, self.expression, self.angles, self.shift]
        self.optimizer = torch.optim.Adam(params, lr=0.05)

    def losses(self, target):
        weight = torch.sigmoid(self.expression)
        points = self.model(self.shape, self.expression, self.angles, self.shift)
        distance = (points - target).pow(2).sum(1)
        error = torch.exp(-distance)
        loss_points = (1 - error).mean() + distance.mean()
        error = error + 0.01 * weight.mean()
        loss_reg = 1e-3 * (self.shape.pow(2).sum() + self.expression.pow(2).sum())
        return loss_points + loss_reg, error

    def step(self, target):
        self.optimizer.zero_grad()
        loss, error = self.losses(target)
        loss.backward()
        self.optimizer.step()
        return loss.item(), error.mean().item()


def main():
    torch.manual_seed(1)
    model = FaceModel()
    with torch.no_grad():
        target = model(
            torch.randn(6), 0.5 * torch.randn(5), torch.tensor([0.2, -0.3, 0.1]), torch.tensor([0.5, 0.0, -0.2])
        )
    fitter = Fitter(model)
    for iteration in range(200):
        loss, score = fitter.step(target)
        if iteration % 50 == 0:
            print(f"iter {iteration}: loss {loss:.4f} score {score:.4f}")
    print(f"final loss {loss:.4f}")


main()
