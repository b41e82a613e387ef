import torch
import torch.nn as nn
from torch.nn.utils import clip_grad_norm_
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class KeywordModel(nn.Module):
    def __init__(self, n_mel=16, n_words=6):
        super().__init__()
        self.conv = nn.Conv1d(n_mel, 24, kernel_size=3, padding=1)
        self.fc = nn.Linear(24, n_words)

    def forward(self, feats):
        h = torch.relu(self.conv(feats))
        return self.fc(h.mean(dim=2))


class Executor:
    def __init__(self, grad_clip=5.0):
        self.step = 0
        self.grad_clip = grad_clip

    def train(self, model, optimizer, loader):
        model.train()
        total = 0.0
        for feats, target in loader:
            loss = nn.functional.cross_entropy(model(feats), target)
            loss.backward()
            clip_grad_norm_(model.parameters(), self.grad_clip)
            optimizer.step()
            total += loss.item()
            self.step += 1
        return total / len(loader)

    @torch.no_grad()
    def cv(self, model, loader):
        model.eval()
        hits = sum((model(f).argmax(1) == t).sum().item() for f, t in loader)
        return hits / len(loader.dataset)


templates = torch.randn(6, 16, 20)


def make_set(n):
    y = torch.randint(0, 6, (n,))
    return TensorDataset(templates[y] * 0.5 + torch.randn(n, 16, 20), y)


train_loader = DataLoader(make_set(1200), batch_size=40, shuffle=True)
cv_loader = DataLoader(make_set(300), batch_size=100)
model = KeywordModel()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
executor = Executor()
for epoch in range(10):
    loss = executor.train(model, optimizer, train_loader)
    print(f"epoch {epoch} loss {loss:.4f} cv acc {executor.cv(model, cv_loader):.3f}")
