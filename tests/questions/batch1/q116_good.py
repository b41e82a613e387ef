import torch

num_samples, num_features, num_hiddens = 400, 2, 2


def make_dataset():
    X = torch.randn(num_samples, num_features)
    true_W = torch.randn(num_features, num_hiddens)
    true_b = torch.randn(1)
    Y = torch.relu(X @ true_W + true_b)
    return X, Y


def batches(X, Y, batch_size):
    order = torch.randperm(len(X))
    for chunk in order.split(batch_size):
        yield X[chunk], Y[chunk]


def fc(x, W, b):
    return torch.relu(x @ W + b)


def squared_loss(prediction, y):
    return ((prediction - y) ** 2).sum() / 2


def sgd(params, lr, batch_size):
    with torch.no_grad():
        for p in params:
            p -= lr * p.grad / batch_size
            p.grad.zero_()


torch.manual_seed(0)
X, Y = make_dataset()
W = torch.normal(0, 0.5, size=(num_features, num_hiddens), requires_grad=True)
b = torch.zeros(1, requires_grad=True)
batch_size, lr = 20, 0.05

for epoch in range(20):
    for x, y in batches(X, Y, batch_size):
        loss = squared_loss(fc(x, W, b), y)
        loss.backward()
        sgd([W, b], lr, batch_size)
    if epoch % 5 == 0:
        print(f"epoch {epoch} loss {loss.item() / batch_size:.5f}")
