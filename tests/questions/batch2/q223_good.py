import torch
import torch.nn as nn


class RegionEncoder(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.conv = nn.Conv2d(3, dim, 3, stride=2)
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        return torch.relu(self.fc(torch.relu(self.conv(x)).mean((2, 3))))


class LipFD(nn.Module):
    def __init__(self, regions=3, dim=16):
        super().__init__()
        self.encoder = RegionEncoder(dim)
        self.backbone = RegionEncoder(dim)
        self.weight = nn.Linear(2 * dim, 1)
        self.fc = nn.Linear(2 * dim, 2)

    def forward(self, image, crops):
        whole = self.encoder(image)
        parts = torch.stack([torch.cat([whole, self.backbone(c)], dim=1) for c in crops], dim=1)
        weights = torch.softmax(self.weight(parts), dim=1)
        return self.fc((weights * parts).sum(1)), weights


class Trainer:
    def __init__(self, fine_tune=False, lr=2e-3):
        self.model = LipFD()
        if fine_tune:
            for p in self.model.encoder.parameters():
                p.requires_grad = False
        params = []
        for name, p in self.model.named_parameters():
            p.requires_grad = True
            params.append(p)
        self.optimizer = torch.optim.AdamW(params, lr=lr)
        self.criterion = nn.CrossEntropyLoss()

    def set_input(self, image, crops, label):
        self.image, self.crops, self.label = image, crops, label

    def forward(self):
        self.output, self.weights = self.model(self.image, self.crops)
        self.loss = self.criterion(self.output, self.label) + 0.01 * self.weights.max(1).values.mean()

    def optimize_parameters(self):
        self.optimizer.zero_grad()
        self.loss.backward()
        self.optimizer.step()


def load(n=16):
    label = torch.randint(0, 2, (n,))
    image = torch.rand(n, 3, 12, 12)
    crops = [torch.rand(n, 3, 6, 6) + 0.5 * label.view(n, 1, 1, 1) for _ in range(3)]
    return image, crops, label


torch.manual_seed(0)
trainer = Trainer()
for epoch in range(4):
    for _ in range(20):
        trainer.set_input(*load())
        trainer.forward()
        trainer.optimize_parameters()
    acc = (trainer.output.argmax(1) == trainer.label).float().mean()
    print(f"epoch {epoch} loss {trainer.loss.item():.4f} acc {acc:.3f}")
