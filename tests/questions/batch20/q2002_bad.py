import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)


class SignalNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 8, 5, padding=2)
        self.conv2 = nn.Conv1d(8, 16, 5, padding=2)
        self.conv3 = nn.Conv1d(16, 16, 3, padding=1)
        self.fc1 = nn.Linear(16 * 8, 32)
        self.fc2 = nn.Linear(32, 2)

    def forward(self, x):
        x = F.max_pool1d(F.relu(self.conv1(x)), 2)
        x = F.max_pool1d(F.relu(self.conv2(x)), 2)
        x = F.max_pool1d(F.relu(self.conv3(x)), 2)
        x = F.relu(self.fc1(x.flatten(1)))
        return self.fc2(x)


def init_weights(m):
    if isinstance(m, (nn.Conv1d, nn.Linear)):
        nn.init.normal_(m.weight, mean=0.0, std=0.5)
        nn.init.zeros_(m.bias)


def make(n):
    t = torch.linspace(0, 1, 64)
    y = (torch.rand(n) < 0.6).long()
    freq = 3.0 + 2.0 * y.float() + 0.3 * torch.randn(n)
    ph = torch.rand(n) * 6.28
    x = torch.sin(6.28 * freq[:, None] * t + ph[:, None]) + 0.3 * torch.randn(n, 64)
    return x.unsqueeze(1), y


xtr, ytr = make(2000)
xte, yte = make(600)

net = SignalNet()
net.apply(init_weights)
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)

for epoch in range(12):
    total = 0.0
    for i in torch.randperm(2000).split(50):
        loss = F.cross_entropy(net(xtr[i]), ytr[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(i)
    if epoch % 3 == 2:
        print("epoch %d train loss %.4f" % (epoch + 1, total / 2000))

net.eval()
with torch.no_grad():
    prob = F.softmax(net(xte), dim=1)
print("first probabilities", [round(v, 4) for v in prob[:6, 1].tolist()])
print("spread of probabilities %.5f" % prob[:, 1].std().item())
print("test accuracy %.3f" % (prob.argmax(1) == yte).float().mean().item())
