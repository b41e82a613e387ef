import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(18)

x = torch.randn(800, 20)
y = torch.tanh(x @ torch.randn(20, 3)).argmax(1)
x_test, y_test = x[600:], y[600:]
x, y = x[:600], y[:600]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(20, 16)
        self.fc2 = nn.Linear(16, 16)
        self.fc3 = nn.Linear(16, 3)

    def forward(self, x):
        return self.fc3(torch.tanh(self.fc2(torch.tanh(self.fc1(x)))))


def orthogonal_term(model, reg):
    orth_loss = torch.zeros(1)
    for name, param in model.named_parameters():
        if "bias" not in name:
            param_flat = param.view(param.shape[0], -1)
            sym = torch.mm(param_flat, torch.t(param_flat))
            sym = sym - torch.eye(param_flat.shape[0])
            orth_loss = orth_loss + reg * sym.sum()
    return orth_loss.squeeze()


def orthogonality_gap(model):
    gap = 0.0
    for name, param in model.named_parameters():
        if "bias" not in name:
            gap += (param @ param.t() - torch.eye(param.shape[0])).abs().mean().item()
    return gap / 3


model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
print(f"gap before training {orthogonality_gap(model):.4f}")

for epoch in range(1, 41):
    for idx in torch.randperm(len(x)).split(50):
        task = F.cross_entropy(model(x[idx]), y[idx])
        orth = orthogonal_term(model, reg=1e-2)
        loss = task + orth
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 8 == 0:
        with torch.no_grad():
            acc = (model(x_test).argmax(1) == y_test).float().mean().item()
        print(f"epoch {epoch:2d}  task {task.item():.4f}  orth {orth.item():.4f}  "
              f"gap {orthogonality_gap(model):.4f}  test accuracy {acc:.3f}")
