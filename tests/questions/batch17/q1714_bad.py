import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1)


class Arcface(nn.Module):
    def __init__(self, embedding_size, classnum, s=10.0, m=0.3):
        super().__init__()
        self.kernel = nn.Parameter(torch.empty(embedding_size, classnum).uniform_(-1, 1))
        self.s, self.cos_m, self.sin_m = s, math.cos(m), math.sin(m)
        self.threshold, self.mm = math.cos(math.pi - m), math.sin(m) * m

    def forward(self, embeddings, label):
        kernel_norm = F.normalize(self.kernel, dim=0)
        cos_theta = torch.mm(F.normalize(embeddings, dim=1), kernel_norm).clamp(-1, 1)
        sin_theta_2 = 1 - torch.pow(cos_theta, 2)
        sin_theta = torch.sqrt(sin_theta_2)
        cos_theta_m = cos_theta * self.cos_m - sin_theta * self.sin_m
        cos_theta_m = torch.where(cos_theta > self.threshold, cos_theta_m, cos_theta - self.mm)
        index = torch.arange(len(label))
        output = cos_theta.clone()
        output[index, label] = cos_theta_m[index, label]
        return output * self.s


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(20, 64), nn.PReLU(), nn.Linear(64, 2))

    def forward(self, x):
        return self.body(x)


faces = torch.randn(3, 20)


def load_batch(n=64):
    label = torch.randint(0, 3, (n,))
    return faces[label] + 0.25 * torch.randn(n, 20), label


model, head = Backbone(), Arcface(2, 3)
optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.01, momentum=0.9)
for step in range(600):
    images, label = load_batch()
    loss = F.cross_entropy(head(model(images), label), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if (step + 1) % 150 == 0:
        print(f"step {step + 1}: loss {loss.item():.4f}  kernel norm {head.kernel.norm().item():.4f}")

with torch.no_grad():
    images, label = load_batch(1000)
    cosine = F.normalize(model(images), dim=1) @ F.normalize(head.kernel, dim=0)
print(f"accuracy {(cosine.argmax(1) == label).float().mean().item():.3f}")
