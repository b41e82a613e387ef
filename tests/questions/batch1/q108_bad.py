import torch
import torch.nn as nn


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.x1 = nn.Linear(2, 4)
        self.s1 = nn.Sigmoid()
        self.x2 = nn.Linear(4, 1)
        self.s2 = nn.Sigmoid()
        nn.init.uniform_(self.x1.weight)
        nn.init.uniform_(self.x2.weight)

    def forward(self, feats):
        hidden = self.s1(self.x1(feats))
        return self.s2(self.x2(hidden))


def learn(net, optimizer, criterion, expected, feats):
    optimizer.zero_grad()
    error = criterion(net(feats), expected)
    error.backward()
    optimizer.step()
    return error.item()


torch.manual_seed(0)
samples = [([0.0, 0.0], [1.0]), ([0.0, 1.0], [0.0]), ([1.0, 0.0], [0.0]), ([1.0, 1.0], [1.0])]
samples = [(torch.tensor(a), torch.tensor(b)) for a, b in samples]

net = Network()
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

for i in range(1000):
    total = sum(learn(net, optimizer, criterion, expected, feats) for feats, expected in samples)
    if i % 200 == 0:
        print(f"round {i} error {total / 4:.4f}")
for feats, expected in samples:
    print(feats.tolist(), expected.item(), net(feats).item())
