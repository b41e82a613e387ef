import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 16, 3, stride=2, padding=1)
        self.fc = nn.Linear(16 * 64, 4)

    def forward(self, x):
        x = torch.relu(self.conv2(torch.relu(self.conv1(x))))
        return self.fc(x.flatten(1))


templates = torch.rand(4, 3, 16, 16)


def load(n):
    y = torch.randint(0, 4, (n,))
    return (templates[y] + 0.15 * torch.randn(n, 3, 16, 16)).clamp(0, 1), y


def fit(model):
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(60):
        x, y = load(64)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    for p in model.parameters():
        p.requires_grad_(False)


class AdversarialTexture:
    def __init__(self, estimator, size=9, step_size=0.03, max_iter=40):
        self.estimator, self.step_size, self.max_iter = estimator, step_size, max_iter
        self.size = size
        self._patch = torch.full((3, size, size), 0.5, requires_grad=True)

    def apply(self, images):
        r, c = 3, 4
        canvas = F.pad(self._patch, (c, 16 - c - self.size, r, 16 - r - self.size))
        mask = F.pad(torch.ones_like(self._patch), (c, 16 - c - self.size, r, 16 - r - self.size))
        return images * (1 - mask) + canvas * mask

    def _train_step(self, images, target):
        attack_loss = F.cross_entropy(self.estimator(self.apply(images)), target)
        attack_loss.backward()
        gradients = self._patch.grad * -1.0
        with torch.no_grad():
            self._patch += gradients.sign() * self.step_size
            self._patch.clamp_(0, 1)
        return attack_loss.item()

    def generate(self, label):
        for i in range(self.max_iter):
            images, _ = load(32)
            loss = self._train_step(images, torch.full((32,), label))
            if i % 10 == 9:
                print(f"iteration {i}: attack loss {loss:.4f}")
        return self._patch.detach()


model = Detector()
fit(model)
attack = AdversarialTexture(model)
attack.generate(label=2)
images, labels = load(400)
with torch.no_grad():
    hit = (model(attack.apply(images)).argmax(1) == 2)[labels != 2].float().mean().item()
print(f"other images taken for class 2: {hit:.3f}")
