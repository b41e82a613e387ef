import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)


class MulticlassCrossEncoder(nn.Module):
    def __init__(self, vocab=60, dim=32, num_classes=4):
        super().__init__()
        self.emb = nn.EmbeddingBag(vocab, dim)
        self.linear = nn.Linear(dim, dim)
        self.classifier = nn.Linear(dim, num_classes)
        self.criterion = nn.CrossEntropyLoss()

    def forward(self, tokens):
        h = torch.relu(self.linear(self.emb(tokens)))
        return self.classifier(h)

    def training_step(self, batch):
        x, y = batch
        y_hat = self(x)
        loss = self.criterion(y_hat, y)
        return loss

    def validation_step(self, batch):
        x, y = batch
        y_hat = self(x)
        loss = self.criterion(y_hat, y)
        y_hat = torch.softmax(y_hat, dim=1)
        preds = torch.argmax(y_hat, dim=1)
        return loss.item() * len(y), (preds == y).sum().item()


def make_pairs(n):
    y = torch.randint(0, 4, (n,))
    base = torch.randint(0, 60, (n, 12))
    topic = y.unsqueeze(1) * 15 + torch.randint(0, 15, (n, 12))
    x = torch.where(torch.rand(n, 12) < 0.45, topic, base)
    return TensorDataset(x, y)


train_loader = DataLoader(make_pairs(1200), batch_size=48, shuffle=True)
val_set = make_pairs(400)
val_loader = DataLoader(val_set, batch_size=100)

model = MulticlassCrossEncoder()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(8):
    model.train()
    total = 0.0
    for batch in train_loader:
        optimizer.zero_grad()
        loss = model.training_step(batch)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    val_loss, correct = 0.0, 0
    with torch.no_grad():
        for batch in val_loader:
            l, c = model.validation_step(batch)
            val_loss += l
            correct += c
    print(f"epoch {epoch}  train loss {total / len(train_loader):.4f}  "
          f"val loss {val_loss / len(val_set):.4f}  val acc {correct / len(val_set):.3f}")
