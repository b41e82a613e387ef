import copy

import torch
import torch.nn as nn


class Classifier(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv1d(1, 16, 5, stride=2),
            nn.BatchNorm1d(16),
            nn.ReLU(),
            nn.Conv1d(16, 16, 5, stride=2),
            nn.BatchNorm1d(16),
            nn.ReLU(),
        )
        self.head = nn.Linear(16, classes)

    def forward(self, x):
        return self.head(self.backbone(x).mean(-1))


class EMA:
    def __init__(self, model, decay=0.95):
        self.ema_model, self.decay = copy.deepcopy(model), decay
        self.ema_model.eval()
        for p in self.ema_model.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for ema_p, p in zip(self.ema_model.parameters(), model.parameters()):
            ema_p.mul_(self.decay).add_(p, alpha=1 - self.decay)
        for ema_b, b in zip(self.ema_model.buffers(), model.buffers()):
            ema_b.copy_(b)


def make_data(n):
    y = torch.randint(0, 4, (n,))
    t = torch.linspace(0, 1, 64)
    x = 5 + 3 * torch.sin(6.28 * (y.view(-1, 1) + 1) * 2 * t) + torch.randn(n, 64)
    return x.unsqueeze(1), y


def evaluate(model, ema, x, y):
    model.eval()
    with torch.no_grad():
        plain = (model(x).argmax(1) == y).float().mean()
        logits = ema.ema_model(x)
        averaged = (logits.argmax(1) == y).float().mean()
    return plain, averaged


torch.manual_seed(0)
model = Classifier()
ema = EMA(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
criterion = nn.CrossEntropyLoss()
x_train, y_train = make_data(512)
x_val, y_val = make_data(200)

for epoch in range(8):
    model.train()
    for idx in torch.randperm(512).split(32):
        loss = criterion(model(x_train[idx]), y_train[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update(model)
    plain, averaged = evaluate(model, ema, x_val, y_val)
    print(f"epoch {epoch} loss {loss.item():.4f} model acc {plain:.3f} ema acc {averaged:.3f}")
