import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(10)
torch.set_num_threads(1)

hidden, inter, tokens = 32, 64, 256
W1, W2 = torch.randn(inter, hidden) / 6, torch.randn(hidden, inter) / 8
X = torch.randn(hidden, tokens)
target = W2 @ torch.relu(W1 @ X)

mask1 = torch.rand_like(W1) < 0.5
mask2 = torch.rand_like(W2) < 0.5
W1p, W2p = W1 * mask1, W2 * mask2

alpha, beta, gamma = 2.0, 1.0, 2.0
opt_epochs = 4
s_learning_rate = 0.02
batch_size = 64

z = W1p @ X
s = torch.relu(z)

for epoch in range(opt_epochs):
    loss_epoch = 0.0
    for start in range(0, tokens, batch_size):
        chunk = slice(start, start + batch_size)
        s_batch = s[:, chunk].clone().requires_grad_(True)
        for it in range(20):
            loss_s = alpha * F.mse_loss(W2p @ s_batch, target[:, chunk], reduction='sum') \
                + beta * F.mse_loss(s_batch, torch.relu(z[:, chunk]), reduction='sum')
            loss_s.backward()
            s_batch -= s_learning_rate * s_batch.grad
            s_batch.grad.zero_()
        s[:, chunk] = s_batch.detach()
        loss_epoch += loss_s.item()
    W2p = (target @ torch.linalg.pinv(s)) * mask2
    print(f"epoch {epoch}  loss {loss_epoch / tokens:.4f}  "
          f"output error {F.mse_loss(W2p @ s, target).item():.4f}")
