import torch
import torch.nn as nn

torch.manual_seed(2)


def draw(n):
    mask = torch.zeros(n, 1, 12, 12)
    for i in range(n):
        r, c = torch.randint(0, 7, (2,)).tolist()
        h, w = torch.randint(3, 6, (2,)).tolist()
        mask[i, :, r:r + h, c:c + w] = 1.0
    image = 4.0 + 3.0 * (mask + 0.8 * torch.randn_like(mask))
    return image, mask


class SmallFCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Dropout2d(0.3))
        self.score = nn.Conv2d(16, 1, 1)

    def forward(self, x):
        return self.score(self.body(x))


class Trainer:
    def __init__(self, model, train, val, interval):
        self.model, self.train_set, self.val_set, self.interval = model, train, val, interval
        self.optim = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        self.criterion = nn.BCEWithLogitsLoss()
        self.iteration = 0

    def validate(self):
        self.model.eval()
        image, mask = self.val_set
        with torch.no_grad():
            score = self.model(image)
            loss = self.criterion(score, mask).item()
            hit = ((score > 0) & (mask > 0)).sum().item()
            union = ((score > 0) | (mask > 0)).sum().item()
        print(f"iteration {self.iteration:4d}  val loss {loss:.4f}  IoU {hit / max(union, 1):.3f}")

    def train_epoch(self):
        self.model.train()
        image, mask = self.train_set
        order = torch.randperm(len(image))
        for i in range(0, len(image), 8):
            idx = order[i:i + 8]
            if self.iteration % self.interval == 0:
                self.validate()
            self.optim.zero_grad()
            loss = self.criterion(self.model(image[idx]), mask[idx])
            loss.backward()
            self.optim.step()
            self.iteration += 1


trainer = Trainer(SmallFCN(), draw(400), draw(100), interval=50)
for epoch in range(6):
    trainer.train_epoch()
trainer.validate()
