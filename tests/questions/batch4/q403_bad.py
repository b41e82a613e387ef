import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(1)


class TernaryQuantize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, full_precision_data, w_p, w_n, threshold):
        delta = threshold * full_precision_data.abs().max()
        a = (full_precision_data > delta).float()
        b = (full_precision_data < -delta).float()
        ctx.save_for_backward(full_precision_data, a, b, w_p, w_n)
        return a * w_p - b * w_n

    @staticmethod
    def backward(ctx, grad_data):
        full_precision_data, a, b, w_p, w_n = ctx.saved_tensors
        c = torch.ones_like(a) - a - b
        w_p_grad = (a * grad_data).sum().reshape(1)
        w_n_grad = -(b * grad_data).sum().reshape(1)
        full_precision_grad = (
            a * full_precision_data * w_p + b * full_precision_data * w_n + c * full_precision_data
        )
        return full_precision_grad, w_p_grad, w_n_grad, None


class TernaryLinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_out, n_in) / n_in**0.5)
        self.bias = nn.Parameter(torch.zeros(n_out))
        self.w_p = nn.Parameter(torch.full((1,), 0.2))
        self.w_n = nn.Parameter(torch.full((1,), 0.2))

    def forward(self, x):
        weight = TernaryQuantize.apply(self.weight, self.w_p, self.w_n, 0.2)
        return F.linear(x, weight, self.bias)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = TernaryLinear(32, 64)
        self.fc2 = TernaryLinear(64, 64)
        self.fc3 = nn.Linear(64, 8)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


centres = torch.randn(8, 32)
labels = torch.randint(0, 8, (2048,))
images = centres[labels] * 0.5 + torch.randn(2048, 32)

model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(8):
    correct, total_loss = 0, 0.0
    for idx in torch.randperm(len(images)).split(64):
        optimizer.zero_grad()
        output = model(images[idx])
        loss = F.cross_entropy(output, labels[idx])
        loss.backward()
        optimizer.step()
        correct += (output.argmax(1) == labels[idx]).sum().item()
        total_loss += loss.item()
    print(f"epoch {epoch}: loss {total_loss / 32:.4f}, accuracy {correct / len(images):.3f}")
