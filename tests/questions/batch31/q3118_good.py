import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(1)


def block_graph(sizes, links):
    n = sum(sizes)
    label = torch.cat([torch.full((s,), k) for k, s in enumerate(sizes)])
    A = torch.zeros(n, n)
    for i in range(n):
        friends = (label[:i] == label[i]).nonzero().view(-1)
        if len(friends):
            for j in friends[torch.randperm(len(friends))[:links]]:
                A[i, j] = A[j, i] = 1
    for _ in range(n // 4):
        i, j = torch.randint(n, (2,)).tolist()
        if i != j:
            A[i, j] = A[j, i] = 1
    for i in (A.sum(1) == 0).nonzero().view(-1).tolist():
        j = (i + 1) % n
        A[i, j] = A[j, i] = 1
    return A, label


class GCNConv(nn.Module):
    def __init__(self, A, in_channels, out_channels):
        super().__init__()
        self.A_hat = A + torch.eye(A.size(0))
        self.D = torch.diag(torch.sum(self.A_hat, 1))
        self.D = self.D.inverse().sqrt()
        self.A_hat = torch.mm(torch.mm(self.D, self.A_hat), self.D)
        self.W = nn.Parameter(torch.randn(in_channels, out_channels) / in_channels ** 0.5)

    def forward(self, X):
        return torch.mm(torch.mm(self.A_hat, X), self.W)


class Net(nn.Module):
    def __init__(self, A, nfeat, nhid, nout):
        super().__init__()
        self.conv1 = GCNConv(A, nfeat, nhid)
        self.conv2 = GCNConv(A, nhid, nhid)
        self.conv3 = GCNConv(A, nhid, nhid)
        self.conv4 = GCNConv(A, nhid, nout)

    def forward(self, X):
        H = F.relu(self.conv1(X))
        H = F.relu(self.conv2(H))
        H = F.relu(self.conv3(H))
        return self.conv4(H)


A, target = block_graph([40, 40, 40], 1)
n = A.size(0)
X = torch.eye(n)
train = torch.cat([torch.arange(0, 8), torch.arange(40, 48), torch.arange(80, 88)])
mask = torch.ones(n, dtype=torch.bool)
mask[train] = False
net = Net(A, n, 16, 3)
optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
print("largest output before training: %.2f" % net(X).abs().max().item())
for i in range(100):
    optimizer.zero_grad()
    out = net(X)
    loss = F.cross_entropy(out[train], target[train])
    loss.backward()
    optimizer.step()
    if i % 20 == 19:
        pred = net(X).argmax(1)
        print(f"iteration {i}  loss {loss.item():.4f}  train {(pred == target)[train].float().mean():.3f}"
              f"  other nodes {(pred == target)[mask].float().mean():.3f}")
