import torch
from torch import nn

torch.manual_seed(0)


class Adder(torch.autograd.Function):
    @staticmethod
    def forward(ctx, W_col, X_col):
        ctx.save_for_backward(W_col, X_col)
        return -(W_col.unsqueeze(2) - X_col.unsqueeze(0)).abs().sum(1)

    @staticmethod
    def backward(ctx, grad_output):
        W_col, X_col = ctx.saved_tensors
        diff = X_col.unsqueeze(0) - W_col.unsqueeze(2)
        grad_W_col = (diff * grad_output.unsqueeze(1)).sum(2)
        grad_W_col = grad_W_col / grad_W_col.norm(p=2).clamp(min=1e-12) * (W_col.numel() ** 0.5) / 5
        grad_X_col = (-diff.clamp(-1, 1) * grad_output.unsqueeze(1)).sum(0)
        return grad_W_col, grad_X_col


class AdderLinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.adder = nn.Parameter(torch.randn(n_out, n_in))
        self.b = nn.Parameter(torch.zeros(n_out))

    def forward(self, x):
        return Adder.apply(self.adder, x.t()).t() + self.b


class AdderNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 24), nn.BatchNorm1d(24), nn.ReLU())
        self.adder = AdderLinear(24, 24)
        self.bn = nn.BatchNorm1d(24)
        self.out = nn.Linear(24, 4)

    def forward(self, x):
        return self.out(torch.relu(self.bn(self.adder(self.body(x)))))


centers = 1.5 * torch.randn(4, 10)
labels = torch.randint(0, 4, (512,))
inputs = centers[labels] + torch.randn(512, 10)
net = AdderNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for epoch in range(1, 11):
    total = 0.0
    for index in torch.randperm(512).split(64):
        optimizer.zero_grad()
        loss = criterion(net(inputs[index]), labels[index])
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 2 == 0:
        print(f"epoch {epoch}: loss {total / 8:.4f}")
