import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.Tanh(), nn.Conv2d(8, 8, 3, stride=2, padding=1), nn.Tanh()
        )
        self.objectness = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        return self.objectness(self.body(x)).flatten(1)


class Estimator:
    def __init__(self, model):
        self.model = model

    def loss(self, images, y):
        return F.binary_cross_entropy_with_logits(self.model(images), y)


class AdversarialPatch:
    def __init__(self, estimator, size=8, learning_rate=0.02, max_iter=60):
        self.estimator, self.learning_rate, self.max_iter = estimator, learning_rate, max_iter
        self._patch = torch.full((3, size, size), 0.5, requires_grad=True)

    def _apply(self, images):
        row, col = 4, 4
        size = self._patch.shape[-1]
        pad = (col, images.shape[3] - col - size, row, images.shape[2] - row - size)
        mask = F.pad(torch.ones_like(self._patch), pad)
        return images * (1 - mask) + F.pad(self._patch, pad)

    def _train_step(self, images, target):
        self.estimator.model.zero_grad()
        if self._patch.grad is not None:
            self._patch.grad.zero_()
        loss = self.estimator.loss(self._apply(images), target)
        loss.backward()
        gradients = self._patch.grad * (1 / self._patch.grad.norm())
        with torch.no_grad():
            self._patch[:] = torch.clamp(self._patch + gradients * self.learning_rate * 20, 0, 1)
        return loss.item()

    def generate(self, images, target):
        history = []
        for step in range(self.max_iter):
            history.append(self._train_step(images, target))
        return self._patch.detach(), history


def main():
    model = Detector()
    for p in model.parameters():
        p.data.mul_(2.0)
    images = torch.rand(8, 3, 16, 16)
    target = (torch.rand(8, 16) > 0.5).float()
    attack = AdversarialPatch(Estimator(model))
    patch, history = attack.generate(images, target)
    print("loss", [round(h, 3) for h in history[::12]], "last", round(history[-1], 4), "best", round(max(history), 4))


main()
