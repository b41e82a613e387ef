import torch
import torch.nn as nn
import torch.nn.functional as F


class FCN(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.norm = nn.BatchNorm2d(12)
        self.drop = nn.Dropout2d(0.5)
        self.conv2 = nn.Conv2d(12, 12, 3, padding=1)
        self.score = nn.Conv2d(12, classes, 1)

    def forward(self, x):
        x = self.drop(F.relu(self.norm(self.conv1(x))))
        return self.score(F.relu(self.conv2(x)))


def scenes(n, seed):
    g = torch.Generator().manual_seed(seed)
    image = torch.randn(n, 1, 12, 12, generator=g)
    smooth = F.avg_pool2d(image, 3, stride=1, padding=1).squeeze(1)
    return image, (smooth > 0.15).long() + (smooth > -0.15).long()


class Trainer:
    def __init__(self, model, optimizer, train_set, val_set, interval_validate):
        self.model, self.optimizer = model, optimizer
        self.train_set, self.val_set = train_set, val_set
        self.interval_validate = interval_validate
        self.iteration = 0

    def validate(self):
        self.model.eval()
        image, label = self.val_set
        with torch.no_grad():
            score = self.model(image)
            accuracy = (score.argmax(1) == label).float().mean().item()
        print(f"  iteration {self.iteration} val acc {accuracy:.3f}")

    def train_epoch(self, epoch):
        self.model.train()
        losses = []
        for image, label in zip(self.train_set[0].split(16), self.train_set[1].split(16)):
            if self.iteration % self.interval_validate == 0:
                self.validate()
            self.optimizer.zero_grad()
            loss = F.cross_entropy(self.model(image), label)
            loss.backward()
            self.optimizer.step()
            self.iteration += 1
            losses.append(loss.item())
        print(f"epoch {epoch} first loss {losses[0]:.4f} last loss {losses[-1]:.4f}")


torch.manual_seed(0)
model = FCN()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
trainer = Trainer(model, optimizer, scenes(320, 1), scenes(64, 2), interval_validate=15)
for epoch in range(5):
    trainer.train_epoch(epoch)
