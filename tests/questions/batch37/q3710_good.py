import torch
import torch.nn as nn

torch.manual_seed(9)
MAXFEATURES, MAXLEN, EMBEDSIZE, NUMHIDDEN, BATCHSIZE, EPOCHS = 200, 20, 16, 24, 50, 6


class SymbolModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(MAXFEATURES, EMBEDSIZE)
        self.gru = nn.GRU(input_size=EMBEDSIZE, hidden_size=NUMHIDDEN, num_layers=1, batch_first=True)
        self.l_out = nn.Linear(NUMHIDDEN, 2)

    def forward(self, x):
        x = self.embedding(x)
        x, h = self.gru(x)
        x = x[:, -1, :]
        return self.l_out(x)


def load_reviews(n):
    words = torch.randint(20, MAXFEATURES, (n, MAXLEN))
    label = torch.randint(0, 2, (n,))
    for i in range(n):
        spots = torch.randperm(MAXLEN - 4)[:4]
        words[i, spots] = torch.randint(0, 10, (4,)) + 10 * label[i]
    return words, label


def yield_mb(x, y, batchsize, shuffle=False):
    order = torch.randperm(len(x)) if shuffle else torch.arange(len(x))
    for idx in order.split(batchsize):
        yield x[idx], y[idx]


x_train, y_train = load_reviews(1500)
x_test, y_test = load_reviews(500)
sym = SymbolModule()
optimizer = torch.optim.Adam(sym.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()

for j in range(EPOCHS):
    sym.train()
    total = 0.0
    for data, target in yield_mb(x_train, y_train, BATCHSIZE, shuffle=True):
        optimizer.zero_grad()
        output = sym(data)
        loss = criterion(output, target)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {j} loss {total / 30:.4f}")

sym.eval()
hits = 0
with torch.no_grad():
    for data, target in yield_mb(x_test, y_test, BATCHSIZE):
        hits += (sym(data).argmax(1) == target).sum().item()
print("accuracy", hits / len(x_test))
