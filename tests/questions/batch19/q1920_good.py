import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

VOCAB = 60
CLASSES = 8
table = torch.softmax(torch.randn(CLASSES, VOCAB) * 1.1, dim=1)


def make_surnames(n):
    label = torch.randint(0, CLASSES, (n,))
    letters = torch.multinomial(table[label], 12, replacement=True)
    bag = torch.zeros(n, VOCAB).scatter_add_(1, letters, torch.ones(n, 12))
    return bag, label


class SurnameClassifier(nn.Module):
    def __init__(self, hidden=40):
        super().__init__()
        self.fc1 = nn.Linear(VOCAB, hidden)
        self.fc2 = nn.Linear(hidden, CLASSES)

    def forward(self, x):
        h = F.relu(self.fc1(x))
        return self.fc2(F.dropout(h, p=0.5, training=self.training))


train_set = TensorDataset(*make_surnames(3000))
valid_x, valid_y = make_surnames(1000)
loader = DataLoader(train_set, batch_size=64, shuffle=True)

model = SurnameClassifier()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()


def validate():
    model.eval()
    with torch.no_grad():
        logits = model(valid_x)
    acc = (logits.argmax(1) == valid_y).float().mean().item()
    return criterion(logits, valid_y).item(), acc


for epoch in range(1, 16):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    valid_loss, valid_acc = validate()
    if epoch % 5 == 0:
        print(f"epoch {epoch:2d}  train {total / len(loader):.4f}  valid {valid_loss:.4f}  acc {valid_acc:.3f}")

for run in range(3):
    valid_loss, valid_acc = validate()
    print(f"validation {run}: loss {valid_loss:.4f} accuracy {valid_acc:.3f}")
