import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
VOCAB, SEQ, N_CLASS = 60, 16, 6
num_epochs, batch_size, gradient_accumulation_steps = 5, 4, 5
lr, warmup = 0.12, 20


def make_pairs(n):
    table = torch.randn(VOCAB, N_CLASS, generator=torch.Generator().manual_seed(7))
    ids = torch.randint(0, VOCAB, (n, SEQ))
    scores = table[ids].mean(1) + 0.05 * torch.randn(n, N_CLASS)
    return ids, scores.argmax(1)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, 32)
        self.body = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, N_CLASS))

    def forward(self, ids):
        return self.body(self.emb(ids).mean(1))


def linear_schedule(optimizer, num_warmup, num_training):
    def scale(step):
        if step < num_warmup:
            return step / max(1, num_warmup)
        return max(0.0, (num_training - step) / max(1, num_training - num_warmup))
    return torch.optim.lr_scheduler.LambdaLR(optimizer, scale)


def evaluate(model, loader):
    model.eval()
    hit = total = 0
    with torch.no_grad():
        for ids, labels in loader:
            hit += (model(ids).argmax(1) == labels).sum().item()
            total += len(labels)
    return hit / total


train_loader = DataLoader(TensorDataset(*make_pairs(3000)), batch_size=batch_size, shuffle=True)
eval_loader = DataLoader(TensorDataset(*make_pairs(1000)), batch_size=100)
model = Classifier()
optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
lr_scheduler = linear_schedule(optimizer, warmup, len(train_loader) * num_epochs // gradient_accumulation_steps)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(num_epochs):
    model.train()
    total_loss = 0.0
    for step, (ids, labels) in enumerate(train_loader):
        loss = loss_fn(model(ids), labels)
        total_loss += loss.item()
        loss = loss / gradient_accumulation_steps
        if (step + 1) % gradient_accumulation_steps != 0:
            loss.backward()
        else:
            loss.backward()
            optimizer.step()
            lr_scheduler.step()
            optimizer.zero_grad()
    acc = evaluate(model, eval_loader)
    print(f"epoch {epoch}  train loss {total_loss / len(train_loader):.3f}  eval accuracy {acc:.3f}  "
          f"lr {lr_scheduler.get_last_lr()[0]:.4f}")

print(f"final train loss {total_loss / len(train_loader):.4f}  eval accuracy {acc:.4f}")
