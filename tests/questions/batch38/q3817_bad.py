import torch
import torch.nn as nn
import torch.nn.functional as F


class LipReader(nn.Module):
    def __init__(self, n_words=5):
        super().__init__()
        self.front = nn.Linear(16, 24)
        self.lstm = nn.LSTM(24, 24, batch_first=True)
        self.out = nn.Linear(24, n_words)

    def forward(self, x):
        h, _ = self.lstm(F.relu(self.front(x)))
        return self.out(h[:, -1])


class Trainer:
    def __init__(self, x, y):
        self.x, self.y = x, y
        self.base_lr = 0.02

    def epoch(self, model, number):
        optimizer = torch.optim.SGD(model.parameters(), lr=self.base_lr, momentum=0.9, weight_decay=3e-4)
        total, batches = 0.0, torch.randperm(len(self.x)).split(150)
        for idx in batches:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(self.x[idx]), self.y[idx])
            loss.backward()
            optimizer.step()
            total += loss.item()
        if number % 10 == 0:
            print(f"epoch {number} loss {total / len(batches):.4f}")


torch.manual_seed(0)
words = torch.randn(5, 8, 16)
y = torch.randint(0, 5, (300,))
x = words[y] + 0.7 * torch.randn(300, 8, 16)
model = LipReader()
trainer = Trainer(x, y)
for number in range(61):
    trainer.epoch(model, number)
with torch.no_grad():
    print("train accuracy", (model(x).argmax(1) == y).float().mean().item())
