import torch
from torch import nn


class BlobModel(nn.Module):
    def __init__(self, input_features, output_features, hidden_units=8):
        super().__init__()
        self.stack = nn.Sequential(
            nn.Linear(input_features, hidden_units),
            nn.ReLU(),
            nn.Linear(hidden_units, output_features),
        )

    def forward(self, x):
        return self.stack(x)


def accuracy(y_true, y_pred):
    return 100 * torch.eq(y_true, y_pred).sum().item() / len(y_pred)


torch.manual_seed(42)
centers = torch.tensor([[-4.0, 0.0], [0.0, 4.0], [4.0, 0.0], [0.0, -4.0]])
y_train = torch.randint(0, 4, (300,))
X_train = centers[y_train] + torch.randn(300, 2)

model = BlobModel(2, 4)
loss_fn = nn.CrossEntropyLoss()
optimiser = torch.optim.SGD(model.parameters(), lr=0.1)

epochs = 100
for epoch in range(epochs):
    model.train()
    train_logits = model(X_train)
    train_preds = torch.softmax(train_logits, dim=1).argmax(dim=1).type(torch.float32)
    loss = loss_fn(train_preds, y_train.type(torch.float32))
    train_acc = accuracy(y_train, train_preds)

    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    if epoch % 20 == 0:
        print(f"epoch {epoch} loss {loss.item():.4f} acc {train_acc:.1f}")
