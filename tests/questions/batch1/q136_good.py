import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class ConvNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.fc = nn.Linear(8 * 16, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2)
        return self.fc(x.flatten(1))


def images(n, seed):
    g = torch.Generator().manual_seed(9)
    prototypes = torch.randn(4, 1, 8, 8, generator=g)
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    return TensorDataset(prototypes[y] + torch.randn(n, 1, 8, 8, generator=g), y)


class ImageClassificationTrainer:
    def __init__(self, model, epochs=5):
        self.model, self.epochs = model, epochs
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        self.train_loader = DataLoader(images(400, 1), batch_size=40, shuffle=True)
        self.val_loader = DataLoader(images(200, 2), batch_size=100)

    def training_step(self, batch, batch_idx):
        x, y = batch
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def validation_step(self, batch):
        x, y = batch
        return (self.model(x).argmax(1) == y).float().mean().item()

    def fit(self):
        for epoch in range(self.epochs):
            self.model.train()
            losses = [self.training_step(batch, i) for i, batch in enumerate(self.train_loader)]
            self.model.eval()
            with torch.no_grad():
                scores = [self.validation_step(batch) for batch in self.val_loader]
            print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f} acc {sum(scores) / len(scores):.3f}")


torch.manual_seed(0)
ImageClassificationTrainer(ConvNet()).fit()
