import torch
from torch import nn

torch.manual_seed(7)

cross = torch.tensor([[1., 0., 1.], [0., 1., 0.], [1., 0., 1.]])
n = 120
n_cross = n // 3

images = (torch.rand(n, 3, 3) > 0.5).float()
images[:n_cross] = cross
images = images + 0.05 * torch.randn(n, 3, 3)
flat = images.reshape(n, 9)
inputs = torch.cat((flat, torch.ones(n, 1)), dim=1)

answers = torch.zeros(n, 1)
answers[:n_cross] = 1.0

order = torch.randperm(n)
inputs, answers = inputs[order], answers[order]

weights = nn.Parameter(torch.rand(10) - 0.5)
sigmoid = nn.Sigmoid()
lr = 0.5


def mse(y_hat, y):
    return ((y_hat - y) ** 2).mean()


def update(step):
    y_hat = sigmoid(inputs @ weights).unsqueeze(1)
    loss = mse(y_hat, answers)
    loss.backward()
    if step % 500 == 0:
        print(f"step {step:5d}  loss {loss.item():.4f}")
    with torch.no_grad():
        weights.sub_(lr * weights.grad)
        weights.grad.zero_()


for step in range(3001):
    update(step)

with torch.no_grad():
    guess = (sigmoid(inputs @ weights) > 0.5).float()
hits = (guess == answers[:, 0]).float().mean().item()
found = guess[answers[:, 0] == 1].mean().item()
print("learned weights:", weights.data[:9].reshape(3, 3))
print(f"accuracy {hits:.3f}, crosses found {found:.3f}")
