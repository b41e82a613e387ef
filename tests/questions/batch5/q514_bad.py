import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(0)


class FGSM:
    def __init__(self, model, criterion, epsilon):
        self.model = model
        self.criterion = criterion
        self.epsilon = epsilon
        self.model.eval()

    def __call__(self, image, label):
        input_for_gradient = torch.from_numpy(image).requires_grad_(True).to(torch.float32)
        out = self.model(input_for_gradient)
        loss = self.criterion(out, label)
        self.model.zero_grad()
        loss.backward()
        sign = input_for_gradient.grad.sign()
        return (input_for_gradient + self.epsilon * sign).detach()


centres = rng.normal(size=(4, 20))
labels = rng.integers(0, 4, 600)
images = centres[labels] + 0.7 * rng.normal(size=(600, 20))
model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 4))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x, y = torch.from_numpy(images).float(), torch.from_numpy(labels)
for epoch in range(10):
    for idx in torch.randperm(600).split(50):
        optimizer.zero_grad()
        loss = criterion(model(x[idx]), y[idx])
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f}")

attack = FGSM(model, criterion, epsilon=0.5)
adversarial = attack(images, y)
with torch.no_grad():
    clean = (model(x).argmax(1) == y).float().mean().item()
    attacked = (model(adversarial).argmax(1) == y).float().mean().item()
print(f"accuracy {clean:.3f}, under attack {attacked:.3f}")
