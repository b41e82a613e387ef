import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)


class LinearRegressionModule(nn.Module):
    def __init__(self, num_features):
        super().__init__()
        self.register_parameter("weights", nn.Parameter(torch.rand((num_features, 1)) * 0.01))
        self.register_parameter("bias", nn.Parameter(torch.randn(1) * 0.01))

    def forward(self, inputs):
        return torch.matmul(inputs, self.weights) + self.bias


def load_housing(n=300):
    lstat = 2 + 30 * torch.rand(n).pow(1.5)
    rooms = 4 + 4 * torch.rand(n)
    medv = 30 - 0.8 * lstat + 1.5 * (rooms - 6) + torch.randn(n)
    return torch.stack([rooms, lstat, medv], dim=1)


def train(inputs, targets, total_epochs=1500):
    mod = LinearRegressionModule(inputs.shape[1])
    optimizer = optim.AdamW(mod.parameters(), lr=0.1)
    for step in range(total_epochs):
        outputs = mod.forward(inputs)
        loss = F.mse_loss(outputs, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 300 == 299:
            print(f"step={step + 1} loss={loss.item():.4f}")
    print(f"results: y = x_i * {mod.weights.item():.4f} + {mod.bias.item():.3f}")
    return mod.weights, mod.bias


def main():
    data = load_housing()
    inputs = data[:, 1:2]
    medv = data[:, 2]
    train(inputs, medv)


if __name__ == "__main__":
    main()
