import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(11)

features, classes = 40, 8
centers = torch.randn(classes, features) * 0.9


def make(n):
    y = torch.randint(0, classes, (n,))
    x = centers[y] + torch.randn(n, features) * 1.6
    return x, y


train_x, train_y = make(4096)
test_x, test_y = make(2048)
loader = DataLoader(TensorDataset(train_x, train_y), batch_size=8, shuffle=True)

model = nn.Sequential(
    nn.Linear(features, 64), nn.ReLU(),
    nn.Linear(64, 64), nn.ReLU(),
    nn.Linear(64, classes),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
accumulation_steps = 8


def update(iteration, batch):
    model.train()
    x, y = batch
    loss = criterion(model(x), y) / accumulation_steps
    loss.backward()
    if iteration % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
    return loss.item() * accumulation_steps


def evaluate():
    model.eval()
    with torch.no_grad():
        out = model(test_x)
        loss = criterion(out, test_y).item()
        acc = (out.argmax(dim=1) == test_y).float().mean().item()
    return loss, acc


iteration = 0
for epoch in range(8):
    running = 0.0
    for batch in loader:
        iteration += 1
        running += update(iteration, batch)
    loss, acc = evaluate()
    print(f"epoch {epoch + 1}  train {running / len(loader):.4f}  test loss {loss:.4f}  acc {acc:.4f}")
print(f"final test accuracy {acc:.4f}")
