import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(42)
device = "cpu"
class_names = ["top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot"]


def make_items(n, prototypes):
    y = torch.randint(0, len(class_names), (n,))
    x = prototypes[y] + 0.6 * torch.randn(n, 1, 20, 20)
    return TensorDataset(x, y)


prototypes = nn.functional.interpolate(torch.randn(len(class_names), 1, 5, 5), size=20, mode="bilinear")
train_dataloader = DataLoader(make_items(1600, prototypes), batch_size=32, shuffle=True)
test_dataloader = DataLoader(make_items(640, prototypes), batch_size=32)


class ClothesModelV2(nn.Module):
    def __init__(self, input_shape, hidden_units, output_shape):
        super().__init__()
        self.block_1 = nn.Sequential(
            nn.Conv2d(input_shape, hidden_units, 3, padding=1), nn.ReLU(),
            nn.Conv2d(hidden_units, hidden_units, 3, padding=1), nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.block_2 = nn.Sequential(
            nn.Conv2d(hidden_units, hidden_units, 3, padding=1), nn.ReLU(),
            nn.Conv2d(hidden_units, hidden_units, 3, padding=1), nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(hidden_units * 25, output_shape))

    def forward(self, x):
        return self.classifier(self.block_2(self.block_1(x)))


def accuracy_fn(y_true, y_pred):
    return (y_true == y_pred).float().mean().item() * 100


model_2 = ClothesModelV2(input_shape=1, hidden_units=10, output_shape=len(class_names)).to(device)
print(sum(p.numel() for p in model_2.parameters()), "parameters")

torch.manual_seed(42)
model_2 = ClothesModelV2(input_shape=1, hidden_units=10, output_shape=len(class_names)).to(device)

loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(params=model_2.parameters(), lr=0.1)

for epoch in range(5):
    model_2.train()
    train_loss, train_acc = 0.0, 0.0
    for X, y in train_dataloader:
        y_pred = model_2(X)
        loss = loss_fn(y_pred, y)
        train_loss += loss.item()
        train_acc += accuracy_fn(y, y_pred.argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    model_2.eval()
    test_loss, test_acc = 0.0, 0.0
    with torch.inference_mode():
        for X, y in test_dataloader:
            test_pred = model_2(X)
            test_loss += loss_fn(test_pred, y).item()
            test_acc += accuracy_fn(y, test_pred.argmax(dim=1))
    print(f"epoch {epoch} train loss {train_loss / len(train_dataloader):.4f} acc {train_acc / len(train_dataloader):.2f} "
          f"test loss {test_loss / len(test_dataloader):.4f} acc {test_acc / len(test_dataloader):.2f}")
