import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class BatchProgramClassifier(nn.Module):
    def __init__(self, vocab=40, dim=16, hidden=48, classes=4):
        super().__init__()
        self.encoder = nn.Embedding(vocab, dim)
        self.bigru = nn.GRU(dim, hidden, bidirectional=True, batch_first=True)
        self.hidden2label = nn.Linear(2 * hidden, classes)

    def forward(self, x):
        out, _ = self.bigru(self.encoder(x))
        return self.hidden2label(out.max(1).values)


def programs(n):
    tokens = torch.randint(0, 40, (n, 10))
    labels = ((tokens >= 20).sum(1) - 3).clamp(0, 3)
    flip = torch.rand(n) < 0.25
    labels[flip] = torch.randint(0, 4, (int(flip.sum()),))
    return tokens, labels


def run(model, data, optimizer=None):
    model.train(optimizer is not None)
    x, y = data
    total, correct = 0.0, 0
    with torch.set_grad_enabled(optimizer is not None):
        for index in torch.arange(len(x)).split(50):
            output = model(x[index])
            loss = F.cross_entropy(output, y[index])
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item() * len(index)
            correct += (output.argmax(1) == y[index]).sum().item()
    return total / len(x), correct / len(x)


train_data, val_data, test_data = programs(400), programs(200), programs(200)
model = BatchProgramClassifier()
optimizer = torch.optim.Adamax(model.parameters(), lr=0.01)
best_acc, best_loss = 0.0, float("inf")
best_model = model
for epoch in range(1, 21):
    train_loss, _ = run(model, train_data, optimizer)
    val_loss, val_acc = run(model, val_data)
    if val_loss < best_loss:
        best_loss, best_epoch = val_loss, epoch
        best_model = copy.deepcopy(model)
    if epoch % 4 == 0:
        print(f"epoch {epoch}: train {train_loss:.4f}, validation {val_loss:.4f}")
print(f"best epoch {best_epoch} with validation loss {best_loss:.4f}")
model = best_model
print(f"kept model: validation loss {run(model, val_data)[0]:.4f}, test {run(model, test_data)[0]:.4f}")
