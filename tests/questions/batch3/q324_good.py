import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(2)


def quantize(weight, bits=4):
    scale = weight.detach().abs().max() / (2 ** (bits - 1) - 1)
    quantized = torch.round(weight / scale) * scale
    return weight + (quantized - weight).detach()


class QuantLinear(nn.Linear):
    def forward(self, x):
        return F.linear(x, quantize(self.weight), self.bias)


class QuantNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = QuantLinear(16, 64)
        self.fc2 = QuantLinear(64, 64)
        self.fc3 = QuantLinear(64, 3)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


x_all = torch.randn(1000, 16)
y_all = (x_all @ torch.randn(16, 3)).argmax(1)
model = QuantNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(15):
    for batch in torch.randperm(1000).split(50):
        loss = F.cross_entropy(model(x_all[batch]), y_all[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        accuracy = (model(x_all).argmax(1) == y_all).float().mean().item()
    if epoch % 2 == 0:
        print(f"epoch {epoch}: loss {loss.item():.4f} accuracy {accuracy:.3f}")
