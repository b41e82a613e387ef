import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def round_pass(x):
    return (x.round() - x).detach() + x


def grad_scale(x, scale):
    return (x - x * scale).detach() + x * scale


class LSQActivationQuantizer(nn.Module):
    def __init__(self, a_bits):
        super().__init__()
        self.Qn, self.Qp = 0, 2**a_bits - 1
        self.s = nn.Parameter(torch.ones(()))
        self.init_state = 0

    def forward(self, activation):
        if self.init_state == 0:
            self.g = 1.0 / math.sqrt(activation.numel() * self.Qp)
            self.s.data.copy_(activation.detach().abs().mean() * 2 / math.sqrt(self.Qp))
            self.init_state = 1
        s = grad_scale(self.s, self.g)
        return round_pass((activation / s).clamp(self.Qn, self.Qp)) * s


class QuantNet(nn.Module):
    def __init__(self, a_bits=2):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(16, 48), nn.Linear(48, 48), nn.Linear(48, 8)
        self.quant1 = LSQActivationQuantizer(a_bits)
        self.quant2 = LSQActivationQuantizer(a_bits)

    def forward(self, x):
        x = self.quant1(F.relu(self.fc1(x)))
        x = self.quant2(F.relu(self.fc2(x)))
        return self.fc3(x)


centers = torch.randn(8, 16)


def load_batch(n=128):
    label = torch.randint(0, 8, (n,))
    return centers[label] + 1.1 * torch.randn(n, 16), label


model = QuantNet()
params = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.SGD(params, lr=0.05, momentum=0.9)
for step in range(800):
    image, label = load_batch()
    loss = F.cross_entropy(model(image), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == 0 or (step + 1) % 200 == 0:
        s1, s2 = model.quant1.s.item(), model.quant2.s.item()
        print(f"step {step + 1}: loss {loss.item():.3f}  step sizes {s1:.4f} {s2:.4f}")

model.eval()
with torch.no_grad():
    image, label = load_batch(4000)
    accuracy = (model(image).argmax(1) == label).float().mean().item()
print(f"accuracy with 2-bit activations: {accuracy:.3f}")
