import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

torch.manual_seed(0)


class StateSpaceHead(nn.Module):
    def __init__(self, n_in=12, hidden=32, classes=8):
        super().__init__()
        self.mix = nn.GRU(n_in, hidden, batch_first=True)
        self.norm = nn.LayerNorm(hidden)
        self.classify = nn.Linear(hidden, classes)

    def forward(self, x):
        out, _ = self.mix(x)
        return self.classify(self.norm(out[:, -1]))


def clips(n, prototypes):
    labels = torch.randint(0, 8, (n,))
    return prototypes[labels] + 1.2 * torch.randn(n, 8, 12), labels


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        logits = model(x)
    return (logits.argmax(1) == y).float().mean().item()


prototypes = torch.randn(8, 8, 12)
train_x, train_y = clips(800, prototypes)
test_x, test_y = clips(300, prototypes)
model = StateSpaceHead()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
scheduler = ReduceLROnPlateau(optimizer, factor=0.2, patience=2)
for epoch in range(1, 25):
    model.train()
    total = 0.0
    for index in torch.randperm(800).split(50):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(train_x[index]), train_y[index])
        loss.backward()
        optimizer.step()
        total += loss.item()
    accuracy = evaluate(model, test_x, test_y)
    scheduler.step(accuracy)
    if epoch % 4 == 0:
        lr = optimizer.param_groups[0]["lr"]
        print(f"epoch {epoch}: loss {total / 16:.4f}, accuracy {accuracy:.3f}, lr {lr:.1e}")
