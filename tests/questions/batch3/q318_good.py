import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(23)


class EmbeddingNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(16, 64), nn.PReLU(), nn.Linear(64, 2))

    def forward(self, x):
        return self.fc(x)


class SiameseNet(nn.Module):
    def __init__(self, embedding_net):
        super().__init__()
        self.embedding_net = embedding_net

    def forward(self, x1, x2):
        return self.embedding_net(x1), self.embedding_net(x2)


class ContrastiveLoss(nn.Module):
    def __init__(self, margin):
        super().__init__()
        self.margin = margin

    def forward(self, output1, output2, target):
        distances = (output2 - output1).pow(2).sum(1)
        losses = 0.5 * (
            target * distances + (1 - target) * F.relu(self.margin - (distances + 1e-9).sqrt()).pow(2)
        )
        return losses.mean()


class SiameseData:
    def __init__(self, count=500, classes=5):
        centres = torch.randn(classes, 16) * 2
        self.labels = torch.randint(0, classes, (count,))
        self.data = centres[self.labels] + torch.randn(count, 16)

    def batch(self, size):
        first = torch.randint(0, len(self.data), (size,))
        second = torch.randint(0, len(self.data), (size,))
        same = (self.labels[first] == self.labels[second]).float()
        return self.data[first], self.data[second], same


data = SiameseData()
model = SiameseNet(EmbeddingNet())
loss_fn = ContrastiveLoss(1.0)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(400):
    x1, x2, target = data.batch(64)
    loss = loss_fn(*model(x1, x2), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
