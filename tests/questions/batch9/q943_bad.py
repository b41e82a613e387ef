import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
NUM_VIEWS, CLASSES = 2, 6


class MultiHead(nn.Module):
    def __init__(self, dim=20, hidden=64):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.head_lab = nn.Linear(hidden, CLASSES)

    def forward(self, views):
        return torch.stack([self.head_lab(self.encoder(v)) for v in views])


class Discoverer:
    def __init__(self, temperature=0.5):
        self.temperature = temperature
        self.model = MultiHead()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)

    def cross_entropy_loss(self, preds, targets):
        preds = F.log_softmax(preds / self.temperature, dim=1)
        return -torch.mean(torch.sum(targets * preds, dim=-1))

    def training_step(self, views, labels):
        logits = self.model(views)
        targets = F.one_hot(labels, CLASSES).float()
        targets = targets.unsqueeze(0).expand(NUM_VIEWS, -1, -1)
        loss = self.cross_entropy_loss(logits, targets)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def validate(self, x, y):
        return (self.model([x])[0].argmax(-1) == y).float().mean().item()


def sample(n, centers):
    weights = torch.tensor([8.0, 4.0, 2.0, 1.0, 1.0, 0.5])
    y = torch.multinomial(weights, n, replacement=True)
    return centers[y] + torch.randn(n, centers.size(1)), y


centers = torch.randn(CLASSES, 20)
train_x, train_y = sample(1024, centers)
val_x, val_y = sample(512, centers)
disc = Discoverer()

for epoch in range(20):
    losses = []
    for idx in torch.randperm(len(train_x)).split(128):
        x = train_x[idx]
        views = [x + 0.1 * torch.randn_like(x) for _ in range(NUM_VIEWS)]
        losses.append(disc.training_step(views, train_y[idx]))
    if epoch % 4 == 3:
        print(
            f"epoch {epoch:2d}  loss {sum(losses) / len(losses):.4f}  val acc {disc.validate(val_x, val_y):.3f}"
        )
