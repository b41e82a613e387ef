import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
N_CONV, N_CHANNEL = 3, 16


class MyNet(nn.Module):
    def __init__(self, input_dim):
        super().__init__()
        self.conv1 = nn.Conv2d(input_dim, N_CHANNEL, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(N_CHANNEL)
        self.conv2 = nn.ModuleList()
        self.bn2 = nn.ModuleList()
        for i in range(N_CONV - 1):
            self.conv2.append(nn.Conv2d(N_CHANNEL, N_CHANNEL, 3, padding=1))
            self.bn2.append(nn.BatchNorm2d(N_CHANNEL))
        self.conv3 = nn.Conv2d(N_CHANNEL, N_CHANNEL, 1)
        self.bn3 = nn.BatchNorm2d(N_CHANNEL)

    def forward(self, x):
        x = self.bn1(F.relu(self.conv1(x)))
        for conv, bn in zip(self.conv2, self.bn2):
            x = bn(F.relu(conv(x)))
        return self.bn3(self.conv3(x))


image = torch.rand(1, 3, 32, 32)
image[:, :, 8:24, 8:24] += 1.0
model = MyNet(3)
model.train()
before = model.conv2[0].weight.detach().clone()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

for it in range(30):
    optimizer.zero_grad()
    output = model(image)[0].permute(1, 2, 0).reshape(-1, N_CHANNEL)
    target = output.detach().argmax(1)
    loss = F.cross_entropy(output, target)
    loss.backward()
    optimizer.step()
    if it % 5 == 0:
        print(f"{it} labels {len(target.unique())} loss {loss.item():.4f}")

print("parameters:", sum(p.numel() for p in model.parameters()))
print("middle conv moved by", (model.conv2[0].weight - before).abs().max().item())
