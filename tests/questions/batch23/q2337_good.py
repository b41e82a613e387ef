import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(8)
CLASSES, POINTS = 6, 48
shape = torch.randn(CLASSES, POINTS, 3)


def scan(n, gen):
    label = torch.randint(0, CLASSES, (n,), generator=gen)
    cloud = shape[label] + 2.2 * torch.randn(n, POINTS, 3, generator=gen)
    wrong = torch.rand(n, generator=gen) < 0.2
    label[wrong] = torch.randint(0, CLASSES, (int(wrong.sum()),), generator=gen)
    return TensorDataset(cloud, label)


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.local = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 8))
        self.head = nn.Sequential(nn.Linear(POINTS * 8, 128), nn.ReLU(), nn.Linear(128, CLASSES))

    def forward(self, cloud):
        return self.head(self.local(cloud).flatten(1))


class Trainer:
    def __init__(self, model, train_loader, test_loader, epochs):
        self.model, self.epochs = model, epochs
        self.train_loader, self.test_loader = train_loader, test_loader
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        self.best_acc, self.best_epoch, self.best_state = 0.0, -1, None

    def train(self):
        for epoch in range(self.epochs):
            train_loss = self.train_epoch()
            val_loss, val_acc = self.evaluate()
            if val_acc > self.best_acc:
                self.best_acc, self.best_epoch = val_acc, epoch
                self.best_state = copy.deepcopy(self.model.state_dict())
            if epoch % 5 == 0 or epoch == self.epochs - 1:
                print(f"epoch {epoch:2d}  train {train_loss:.4f}  val {val_loss:.4f}  val acc {val_acc:.3f}")

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for cloud, label in self.train_loader:
            loss = F.cross_entropy(self.model(cloud), label)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(self.train_loader)

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        num_iter = len(self.test_loader)
        test_loader_iter = iter(self.test_loader)
        loss, right, seen = 0.0, 0, 0
        for _ in range(num_iter):
            cloud, label = next(test_loader_iter)
            out = self.model(cloud)
            loss += F.cross_entropy(out, label).item()
            right += (out.argmax(1) == label).sum().item()
            seen += len(label)
        return loss / num_iter, right / seen


gen = torch.Generator().manual_seed(1)
train_set, test_set, field_set = scan(1500, gen), scan(600, gen), scan(2000, gen)
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
test_loader = DataLoader(test_set, batch_size=32)
trainer = Trainer(PointNet(), train_loader, test_loader, epochs=40)
trainer.train()

trainer.model.load_state_dict(trainer.best_state)
trainer.model.eval()
with torch.no_grad():
    cloud, label = field_set.tensors
    out = trainer.model(cloud)
    field_loss = F.cross_entropy(out, label).item()
    field_acc = (out.argmax(1) == label).float().mean().item()
print(f"best epoch {trainer.best_epoch}  val acc {trainer.best_acc:.3f}  new scans: loss {field_loss:.4f} acc {field_acc:.3f}")
