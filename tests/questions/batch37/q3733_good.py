import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
VOCAB, SEQ = 40, 16


class TransformerModel(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.pos = nn.Parameter(torch.randn(SEQ, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, 1)

    def forward(self, x):
        return self.blocks(self.embed(x) + self.pos)


class ClfHead(nn.Module):
    def __init__(self, dim=32, n_classes=8):
        super().__init__()
        self.linear = nn.Linear(dim, n_classes)
        nn.init.normal_(self.linear.weight, std=0.02)
        nn.init.zeros_(self.linear.bias)

    def forward(self, h):
        return self.linear(h[:, -1])


def make_data(n):
    x = torch.randint(0, VOCAB, (n, SEQ))
    x[:, -1] = 0
    return x, x[:, 3] % 8


train_loader = DataLoader(TensorDataset(*make_data(2000)), batch_size=50, shuffle=True)
x_test, y_test = make_data(500)

model = TransformerModel()
clf_head = ClfHead()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(list(model.parameters()) + list(clf_head.parameters()), lr=2e-3)

for epoch in range(8):
    model.train()
    clf_head.train()
    total = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(clf_head(model(x)), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    clf_head.eval()
    with torch.no_grad():
        logits = clf_head(model(x_test))
        acc = (logits.argmax(1) == y_test).float().mean().item()
        test_loss = criterion(logits, y_test).item()
    print(f"epoch {epoch}: loss {total / len(train_loader):.3f} test loss {test_loss:.3f} acc {acc:.3f}")
