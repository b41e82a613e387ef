import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)
num_inputs, num_outputs, num_hiddens1, num_hiddens2 = 40, 8, 64, 64
dropout1, dropout2 = 0.3, 0.6


def dropout_layer(X, dropout):
    assert 0 <= dropout <= 1
    if dropout == 1:
        return torch.zeros_like(X)
    mask = (torch.rand(X.shape) > dropout).float()
    return mask * X / (1.0 - dropout)


class Net(nn.Module):
    def __init__(self, is_training=True):
        super().__init__()
        self.is_training = is_training
        self.lin1 = nn.Linear(num_inputs, num_hiddens1)
        self.lin2 = nn.Linear(num_hiddens1, num_hiddens2)
        self.lin3 = nn.Linear(num_hiddens2, num_outputs)

    def forward(self, X):
        H1 = F.relu(self.lin1(X))
        if self.is_training:
            H1 = dropout_layer(H1, dropout1)
        H2 = F.relu(self.lin2(H1))
        if self.is_training:
            H2 = dropout_layer(H2, dropout2)
        return self.lin3(H2)


centers = torch.randn(num_outputs, num_inputs) * 0.6
y = torch.randint(0, num_outputs, (2400,))
X = centers[y] + torch.randn(2400, num_inputs)
train = torch.utils.data.TensorDataset(X[:1600], y[:1600])
train_iter = torch.utils.data.DataLoader(train, batch_size=64, shuffle=True)


def evaluate_accuracy(net, X, y):
    net.eval()
    with torch.no_grad():
        return (net(X).argmax(1) == y).float().mean().item()


net = Net()
trainer = torch.optim.SGD(net.parameters(), lr=0.2)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(12):
    net.train()
    total, count = 0.0, 0
    for xb, yb in train_iter:
        l = loss_fn(net(xb), yb)
        trainer.zero_grad()
        l.backward()
        trainer.step()
        total += l.item() * len(yb)
        count += len(yb)
    test_acc = evaluate_accuracy(net, X[1600:], y[1600:])
    print(f"epoch {epoch + 1}, loss {total / count:.3f}, test acc {test_acc:.4f}")
print("test acc again", [round(evaluate_accuracy(net, X[1600:], y[1600:]), 4) for _ in range(3)])
