import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
N_TRAIN, N_TEST, NUM_INPUTS, BATCH_SIZE = 20, 100, 200, 5
true_w, true_b = torch.full((NUM_INPUTS, 1), 0.01), 0.05


def synthetic_data(n):
    X = torch.randn(n, NUM_INPUTS)
    return TensorDataset(X, X @ true_w + true_b + 0.01 * torch.randn(n, 1))


train_iter = DataLoader(synthetic_data(N_TRAIN), BATCH_SIZE, shuffle=True)
test_iter = DataLoader(synthetic_data(N_TEST), BATCH_SIZE)


def evaluate_loss(net, data_iter, loss):
    with torch.no_grad():
        return sum(loss(net(X), y).item() for X, y in data_iter) / len(data_iter)


def new_train(lambd, num_epochs=40, lr=0.003):
    net = nn.Sequential(nn.Linear(NUM_INPUTS, 1))
    for param in net.parameters():
        param.data.normal_()
    loss = nn.MSELoss()
    trainer = torch.optim.SGD(
        [{"params": net[0].weight, "weight_decay": lambd}, {"params": net[0].bias}], lr=lr
    )
    for epoch in range(num_epochs):
        for X, y in train_iter:
            trainer.zero_grad()
            l = loss(net(X), y)
            l.backward()
            trainer.step()
        if (epoch + 1) % 8 == 0:
            train_loss, test_loss = evaluate_loss(net, train_iter, loss), evaluate_loss(net, test_iter, loss)
            print(f"epoch {epoch + 1}: train {train_loss:.4g} test {test_loss:.4g}")
    print("norm of w:", round(net[0].weight.norm().item(), 4))


new_train(lambd=3)
