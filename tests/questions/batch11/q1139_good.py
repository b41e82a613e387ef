import torch
import torch.nn as nn
import torch.nn.functional as F


class ActivatedNorm(nn.Module):
    """Batch norm over the channels with an activation, own running statistics."""

    def __init__(self, num_features, eps=1e-5, momentum=0.1):
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features))

    def forward(self, x):
        if self.training:
            var, mean = torch.var_mean(x, dim=(0, 2, 3), unbiased=False)
            with torch.no_grad():
                self.running_mean.mul_(1 - self.momentum).add_(mean, alpha=self.momentum)
                self.running_var.mul_(1 - self.momentum).add_(var, alpha=self.momentum)
        else:
            mean, var = self.running_mean, self.running_var
        scale = self.weight / torch.sqrt(var + self.eps)
        shift = self.bias - mean * scale
        return F.leaky_relu(x * scale.view(1, -1, 1, 1) + shift.view(1, -1, 1, 1), 0.01)


class ConvBN(nn.Sequential):
    def __init__(self, cin, cout, stride=1):
        super().__init__(nn.Conv2d(cin, cout, 3, stride, 1, bias=False), ActivatedNorm(cout))


class TinyNet(nn.Module):
    def __init__(self, classes=6):
        super().__init__()
        self.features = nn.Sequential(ConvBN(3, 16), ConvBN(16, 24, 2), ConvBN(24, 32, 2))
        self.fc = nn.Linear(32, classes)

    def forward(self, x):
        return self.fc(self.features(x).mean(dim=(2, 3)))


class Textures:
    def __init__(self, classes=6):
        self.kernels = torch.randn(classes, 3, 3, 3)

    def batch(self, n):
        y = torch.randint(0, len(self.kernels), (n,))
        noise = torch.randn(n, 3, 14, 14)
        w = self.kernels[y].unsqueeze(2)
        x = F.conv2d(noise.reshape(1, n * 3, 14, 14), w.reshape(n * 3, 1, 3, 3), groups=n * 3)
        return 2.0 + 1.5 * x.view(n, 3, 12, 12), y


def evaluate(model, data, criterion):
    model.eval()
    with torch.no_grad():
        x, y = data.batch(300)
        out = model(x)
    model.train()
    return criterion(out, y).item(), (out.argmax(1) == y).float().mean().item()


torch.manual_seed(37)
data, model = Textures(), TinyNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
for epoch in range(1, 6):
    hits = 0.0
    for _ in range(25):
        x, y = data.batch(64)
        out = model(x)
        loss = criterion(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hits += (out.argmax(1) == y).float().mean().item() / 25
    val_loss, val_acc = evaluate(model, data, criterion)
    print(
        f"epoch {epoch}: train loss {loss.item():.4f} acc {hits:.3f}  val loss {val_loss:.4f} acc {val_acc:.3f}"
    )
