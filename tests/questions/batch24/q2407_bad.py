import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(8)

n_classes, n_features = 12, 20
centres = torch.randn(n_classes, n_features) * 0.9


def make_split(n):
    labels = torch.randint(0, n_classes, (n,))
    return centres[labels] + torch.randn(n, n_features), labels


train_x, train_y = make_split(3000)
test_x, test_y = make_split(1000)
loader = DataLoader(TensorDataset(train_x, train_y), batch_size=50, shuffle=True)


class Classifier(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(n_features, hidden),
            nn.ReLU(),
            nn.Linear(hidden, n_classes),
        )
        self.normalise = nn.Softmax(dim=1)

    def forward(self, x):
        return self.normalise(self.body(x))


model = Classifier()
criterion = nn.NLLLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for epoch in range(12):
    model.train()
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        output = model(xb)
        loss = criterion(output, yb)
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1} loss {total / len(loader):.4f}")

model.eval()
with torch.no_grad():
    output = model(test_x)
    accuracy = (output.argmax(1) == test_y).float().mean().item()
    cross_entropy = nn.functional.cross_entropy(model.body(test_x), test_y).item()
print(f"test accuracy {accuracy:.4f}  test cross entropy {cross_entropy:.4f}")
