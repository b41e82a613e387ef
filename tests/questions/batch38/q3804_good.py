import torch
import torch.nn as nn


class ACELoss(nn.Module):
    def forward(self, logits, counts):
        steps = logits.size(1)
        probs = torch.softmax(logits, dim=2)
        pred = (probs.sum(dim=1) + 1e-10) / steps
        target = counts / steps
        return -(target * torch.log(pred)).sum(dim=1).mean()


class Recognizer(nn.Module):
    def __init__(self, n_in=12, n_class=9):
        super().__init__()
        self.conv = nn.Conv1d(n_in, 48, 3, padding=1)
        self.fc = nn.Linear(48, n_class)

    def forward(self, x):
        h = torch.relu(self.conv(x.transpose(1, 2)))
        return self.fc(h.transpose(1, 2))


def make_words(n, steps=10, n_class=9):
    chars = torch.randint(1, n_class - 1, (n, steps))
    chars[:, ::2] = 0
    glyphs = torch.randint(0, 512, (n_class, 12)).float()
    x = glyphs[chars] + 8 * torch.randn(n, steps, 12)
    counts = torch.zeros(n, n_class).scatter_add_(1, chars, torch.ones(n, steps))
    return x, counts


torch.manual_seed(0)
x, counts = make_words(600)
model = Recognizer()
criterion = ACELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(8):
    total = 0.0
    for idx in torch.randperm(len(x)).split(60):
        logits = model(x[idx])
        loss = criterion(logits, counts[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} ace loss {total / 10:.4f}")
