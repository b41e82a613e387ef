import torch
from torch import nn

torch.manual_seed(0)


class ExponentialMovingAverage:
    def __init__(self, model, decay=0.9):
        self.model = model
        self.decay = decay
        self.shadow = {name: p.detach().clone() for name, p in model.named_parameters()}
        self.backup = {}

    @torch.no_grad()
    def update(self):
        for name, p in self.model.named_parameters():
            self.shadow[name].mul_(self.decay).add_(p, alpha=1 - self.decay)

    @torch.no_grad()
    def apply_shadow(self):
        for name, p in self.model.named_parameters():
            self.backup[name] = p.clone()
            p.copy_(self.shadow[name])

    @torch.no_grad()
    def restore(self):
        for name, p in self.model.named_parameters():
            p.copy_(self.backup[name])


class ModelTrainer:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.ema = ExponentialMovingAverage(model)
        self.criterion = nn.CrossEntropyLoss()
        self.checkpoints = []

    def train_one_batch(self, images, targets):
        loss = self.criterion(self.model(images), targets)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.ema.update()
        return loss.item()

    def save_checkpoint(self):
        self.ema.apply_shadow()
        self.checkpoints.append({name: p.clone() for name, p in self.model.state_dict().items()})
        self.ema.restore()

    def solve(self, images, targets, epochs):
        for epoch in range(epochs):
            batches = torch.randperm(len(images)).split(64)
            losses = [self.train_one_batch(images[idx], targets[idx]) for idx in batches]
            self.save_checkpoint()
            with torch.no_grad():
                score = (self.model(images).argmax(1) == targets).float().mean().item()
            print(f"epoch {epoch}: first {losses[0]:.4f}, last {losses[-1]:.4f}, score {score:.3f}")


centres = torch.randn(6, 24)
targets = torch.randint(0, 6, (1280,))
images = centres[targets] + torch.randn(1280, 24)
net = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 6))
ModelTrainer(net, lr=0.02).solve(images, targets, epochs=8)
